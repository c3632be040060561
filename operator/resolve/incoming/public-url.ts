import type { GatewayConfig } from '../../../gateway/contract/gateway-config.ts';
import { MCP_PATH } from '../../../gateway/contract/paths/public-paths.ts';
import type { Scope } from '../scope.ts';

/** Reason of a proxy setting that does not lead to the URL that clients get. */
const MISMATCH = 'PublicURLMismatch';

/** Returns the URL that clients outside of the cluster use, which the endpoint in the cluster is not. */
export const publicUrlOf = (oidc: GatewayConfig['oidc_config'], endpoint: string): string | undefined =>
  oidc?.resourceURL === endpoint ? undefined : oidc?.resourceURL;

/** Resolves the path prefix. Warns when it, or the host names of the route, do not lead to the resource URL. */
export function resolvePrefix(
  scope: Scope,
  oidc: GatewayConfig['oidc_config'],
): Pick<GatewayConfig, 'endpoint_prefix'> {
  const { endpointPrefix, route } = scope.vmcp.spec;
  const prefix = endpointPrefix?.replace(/\/$/u, '');
  const resource = URL.parse(publicUrlOf(oidc, scope.endpoint) ?? '');
  if (resource) {
    if (prefix !== undefined) checkPrefix(prefix, resource, scope);
    if (route?.hostnames) checkHost(route.hostnames, resource, scope);
  }
  return prefix === undefined ? {} : { endpoint_prefix: prefix };
}

function checkPrefix(prefix: string, resource: URL, scope: Scope): void {
  const expected = prefix + MCP_PATH;
  if (resource.pathname.replace(/\/$/u, '') === expected) return;
  const message = `clients get ${resource.href} as the resource, and with this prefix the endpoint is ${resource.origin}${expected}: correct the resource URL or the prefix`;
  scope.on(scope.vmcp).warning(MISMATCH, 'spec.endpointPrefix', message);
}

function checkHost(hostnames: readonly string[], { href, hostname }: URL, scope: Scope): void {
  if (hostnames.length === 0 || hostnames.some((name) => includes(name, hostname))) return;
  const message = `clients get ${href} as the resource, and the route has no host name for it: add ${hostname}, or correct the resource URL`;
  scope.on(scope.vmcp).warning(MISMATCH, 'spec.route.hostnames', message);
}

/** Returns true when a host name of a route, which may start with `*.`, includes a host. */
const includes = (name: string, host: string): boolean =>
  name === host || (name.startsWith('*.') && host.endsWith(name.slice(1)) && host.length > name.length - 1);
