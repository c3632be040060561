import type { GatewayConfig } from './gateway-config.ts';

/** Paths of a virtual server in the URLs of its clients. */
export interface PublicPaths {
  /** Path in front of the paths of the gateway, without a slash at its end; empty at the root of a host. */
  readonly prefix: string;
  /** Path of the MCP endpoint. */
  readonly mcp: string;
}

/** Path of the MCP endpoint at the gateway. */
export const MCP_PATH = '/mcp';

/** Path that a proxy can have in front of those of the gateway. Documents below `/.well-known/` belong to the whole host. */
const PREFIX = /^(?!\/\.well-known(?:\/|$))(?:\/[\w.~-]+)+$/u;

/** Returns a prefix without the slash at its end; empty for a text that is no prefix. */
export function prefixOf(text: string): string {
  const prefix = text.replace(/\/$/u, '');
  return PREFIX.test(prefix) ? prefix : '';
}

/** Returns the public paths: those of the configured prefix, else of the resource URL. */
export function publicPathsOf({
  endpoint_prefix: configured,
  oidc_config: oidc,
}: Pick<GatewayConfig, 'endpoint_prefix' | 'oidc_config'>): PublicPaths {
  const resource = (URL.parse(oidc?.resourceURL ?? '')?.pathname ?? '').replace(/\/$/u, '');
  const derived = resource.endsWith(MCP_PATH) ? resource.slice(0, -MCP_PATH.length) : '';
  const prefix = prefixOf(configured ?? derived);
  return { prefix, mcp: prefixOf(resource) === '' ? prefix + MCP_PATH : resource };
}

/** Returns true if the page about the virtual server is in the folder of the MCP endpoint, so that `./` leads to it. */
export const pageIsNextToMcp = ({ prefix, mcp }: PublicPaths): boolean => mcp === prefix + MCP_PATH;

/**
 * Returns the target of a request at the gateway. A proxy in front may have removed the prefix or kept it, so both spellings
 * mean the same.
 */
export function targetAtGateway(url: string, { prefix, mcp }: PublicPaths): string {
  const rest = after(mcp, url);
  if (rest !== undefined && !/^\/[^?]/u.test(rest)) return MCP_PATH + rest;
  const below = prefix === '' ? undefined : after(prefix, url);
  if (below === undefined) return url;
  return below.startsWith('/') ? below : `/${below}`;
}

/** Returns the target after a path; undefined unless it is that path or one below it. */
function after(path: string, url: string): string | undefined {
  if (!url.startsWith(path)) return undefined;
  const rest = url.slice(path.length);
  return rest === '' || rest.startsWith('/') || rest.startsWith('?') ? rest : undefined;
}
