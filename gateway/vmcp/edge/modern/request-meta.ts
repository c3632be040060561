import { isObjectSpan, readKey, visitMembers, type Span } from '../../../http/json-walk.ts';
import { META } from '../../era.ts';

const PREFIX = 'io.modelcontextprotocol/';

/** `params._meta` of a request, with the members that describe the request itself. */
export interface RequestMeta {
  /** Span of the whole member's value. */
  readonly span: Span;
  readonly version: Span | undefined;
  readonly client: Span | undefined;
  readonly capabilities: Span | undefined;
  readonly logLevel: Span | undefined;
  /** True when it has other members, which go to the backend. */
  readonly hasOthers: boolean;
  /** A member of the request that occurs twice. */
  readonly repeated: string | undefined;
}

const NAMES: ReadonlyMap<string, keyof typeof META> = new Map(
  Object.entries(META).map(([name, key]) => [key, name as keyof typeof META]),
);

/** Reads `_meta`; undefined for one that is absent or no object. Of equal keys the first counts. */
export function readMeta(body: Buffer, span: Span | undefined): RequestMeta | undefined {
  if (span === undefined || !isObjectSpan(body, span)) return undefined;
  const found: Partial<Record<keyof typeof META, Span>> = {};
  let hasOthers = false;
  let repeated: string | undefined;
  visitMembers(body, span, (keyStart, keyEnd, start, end) => {
    const key = keyEnd - keyStart > PREFIX.length ? readKey(body, keyStart, keyEnd) : undefined;
    const name = key === undefined ? undefined : NAMES.get(key);
    if (name === undefined) hasOthers = true;
    else if (found[name]) repeated = key;
    else found[name] = { start, end };
  });
  const { version, client, capabilities, logLevel } = found;
  return { span, version, client, capabilities, logLevel, hasOthers, repeated };
}

/** Returns true for `_meta` of a request without a session, right or wrong. */
export const hasClaim = ({ version, client, capabilities }: RequestMeta): boolean =>
  version !== undefined || client !== undefined || capabilities !== undefined;

/** Returns `_meta` as JSON text without the members that describe the request: those for its backend. */
export function metaForBackend(body: Buffer, { span, hasOthers }: RequestMeta): string {
  if (!hasOthers) return '{}';
  const kept: string[] = [];
  visitMembers(body, span, (keyStart, keyEnd, _start, end) => {
    if (!NAMES.has(readKey(body, keyStart, keyEnd))) kept.push(body.toString('utf8', keyStart, end));
  });
  return `{${kept.join(',')}}`;
}
