import type { GatewayConfig } from './contract/gateway-config.ts';
import { isLoopback, loopbackHosts, type OriginGuardOptions } from './http/origin-guard.ts';

/** Addresses of a server. */
interface Reached {
  readonly config: GatewayConfig;
  readonly host: string;
  readonly local?: boolean;
  /** Origins of the command line. */
  readonly allowedOrigins?: readonly string[] | undefined;
}

/** Returns the origin of the URL that clients use. */
function resourceOrigin({ oidc_config: oidc }: GatewayConfig): string[] {
  const origin = oidc?.resourceURL === undefined ? undefined : URL.parse(oidc.resourceURL)?.origin;
  return origin === undefined ? [] : [origin];
}

/** Returns the host names of the authorization server. */
const loginHosts = ({ embedded_auth_server_config: server }: GatewayConfig): string[] =>
  [server?.issuer, server?.authorization_endpoint_base_url].flatMap((url) => URL.parse(url ?? '')?.hostname ?? []);

/**
 * Returns the allowed hosts: loopback names on a loopback address, elsewhere the configured hosts, if any. Pages of the own origin and
 * of configured origins may call.
 */
export function originsOf({
  config,
  host,
  local = isLoopback(host),
  allowedOrigins = [],
}: Reached): OriginGuardOptions {
  const { allowed_hosts: hosts, allowed_origins: origins } = config.vmcp.incoming;
  const names = local ? loopbackHosts(host) : new Set<string>();
  return {
    allowedHosts:
      hosts || local
        ? new Set([...names, ...(hosts ?? []).map((name) => name.toLowerCase()), ...loginHosts(config)])
        : undefined,
    allowedOrigins: new Set([...(origins ?? []), ...resourceOrigin(config), ...allowedOrigins]),
    own: local ? { names } : undefined,
    allowedHeaders: (config.vmcp.passthrough_headers ?? []).map((name) => name.toLowerCase()),
  };
}

/**
 * Returns the hosts and origins of a management listener: those of this machine on a loopback address, elsewhere any host. Pages of the
 * own origin and of `allowedOrigins` may call.
 */
export function managementOrigins(host: string, allowedOrigins: readonly string[] = []): OriginGuardOptions {
  const names = isLoopback(host) ? loopbackHosts(host) : undefined;
  return {
    allowedHosts: names,
    allowedOrigins: new Set(allowedOrigins),
    own: { names: names ?? new Set() },
    isManagement: true,
  };
}
