import { accepted, refused, type Checked } from './refusal.ts';

const MAX_LENGTH = 2048;
/** Captures scheme, host, port and the rest. Rejects user information, fragments, blanks, backslashes and controls. */
const RESOURCE = /^(https?):\/\/(\[[0-9a-f:.]+\]|[^\s/?#@:\\[\]]+)(?::([0-9]*))?((?:[/?][^\s#\\]*)?)$/iu;
// oxlint-disable-next-line no-control-regex -- the pattern rejects control characters
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/u;
const DEFAULT_PORTS: Readonly<Record<string, string>> = { http: '80', https: '443' };

/**
 * Returns the canonical form of a resource for comparison: scheme and host in lower case, no default port, no slash at the end
 * of a path, which reaches the same server, the rest unchanged. Returns undefined for an invalid resource.
 */
function canonical(resource: string): string | undefined {
  if (resource.length > MAX_LENGTH || CONTROL.test(resource) || !URL.canParse(resource)) return undefined;
  const [, scheme, host, port = '', rest = ''] = RESOURCE.exec(resource) ?? [];
  if (scheme === undefined || host === undefined) return undefined;
  const protocol = scheme.toLowerCase();
  const suffix = port === '' || port === DEFAULT_PORTS[protocol] ? '' : `:${port}`;
  return `${protocol}://${host.toLowerCase()}${suffix}${rest.endsWith('/') && !rest.includes('?') ? rest.slice(0, -1) : rest}`;
}

/**
 * Returns the audience for `resource` in its configured spelling; without `resource`, the only audience.
 * @see RFC 8707 §2
 */
export function resolveResource(requested: readonly string[], audiences: readonly string[]): Checked<string> {
  const [named, second] = requested;
  if (second !== undefined) return refused('resource_multiple');
  if (named === undefined) {
    const [only, other] = audiences;
    return only !== undefined && other === undefined ? accepted(only) : refused('resource_missing');
  }
  const wanted = canonical(named);
  if (wanted === undefined) return refused('resource_malformed');
  const audience =
    audiences.find((candidate) => candidate === named) ??
    audiences.find((candidate) => canonical(candidate) === wanted);
  return audience === undefined ? refused('resource_unknown') : accepted(audience);
}

/** Checks that `resource` at the token endpoint is absent or equal to the granted one. @see RFC 8707 §2.2 */
export function checkSameResource(requested: readonly string[], granted: string): Checked<string> {
  const [named, second] = requested;
  if (second !== undefined) return refused('resource_multiple');
  if (named === undefined) return accepted(granted);
  const wanted = canonical(named);
  if (wanted === undefined) return refused('resource_malformed');
  return wanted === canonical(granted) ? accepted(granted) : refused('resource_changed');
}
