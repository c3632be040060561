import type { GatewayConfig } from './contract/gateway-config.ts';
import { isLoopback, loopbackHosts, type OriginGuardOptions } from './http/origin-guard.ts';

/** Addresses of a server. */
interface Reached {
  readonly config: GatewayConfig;
  readonly host: string;
  readonly local?: boolean;
}

/** Returns the origins whose pages may call the MCP endpoint. */
function ownOrigin({ oidc_config: oidc }: GatewayConfig): string[] {
  const origin = oidc?.resourceURL === undefined ? undefined : URL.parse(oidc.resourceURL)?.origin;
  return origin === undefined ? [] : [origin];
}

/** Returns the host names of the authorization server. */
const loginHosts = ({ embedded_auth_server_config: server }: GatewayConfig): string[] =>
  [server?.issuer, server?.authorization_endpoint_base_url].flatMap((url) => URL.parse(url ?? '')?.hostname ?? []);

/** Returns the allowed hosts: loopback names on a loopback address, elsewhere the configured hosts, if any. */
export function originsOf({ config, host, local = isLoopback(host) }: Reached): OriginGuardOptions {
  const { allowed_hosts: hosts, allowed_origins: origins } = config.vmcp.incoming;
  const own = local ? [...loopbackHosts(host)] : [];
  return {
    allowedHosts:
      hosts || local
        ? new Set([...own, ...(hosts ?? []).map((name) => name.toLowerCase()), ...loginHosts(config)])
        : undefined,
    allowedOrigins: new Set([...(origins ?? []), ...ownOrigin(config)]),
    allowLoopbackOrigins: local,
    allowedHeaders: (config.vmcp.passthrough_headers ?? []).map((name) => name.toLowerCase()),
  };
}

/** Returns the hosts and origins of a management listener: those of this machine on a loopback address, elsewhere any host. */
export const managementOrigins = (host: string): OriginGuardOptions => ({
  allowedHosts: isLoopback(host) ? loopbackHosts(host) : undefined,
  allowedOrigins: new Set(),
  allowLoopbackOrigins: isLoopback(host),
  isManagement: true,
});
