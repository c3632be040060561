import type { IncomingMessage } from 'node:http';
import { trustedProxies } from '../../http/trusted-proxies.ts';
import type { GatewayConfig } from '../../contract/gateway-config.ts';

/** Path of visible characters, as a proxy removes it from requests. */
const PREFIX = /^(?:\/[\w.~-]+)+$/u;

/**
 * Returns the path that a reverse proxy removes from requests and clients must therefore add: that of the configuration,
 * else `X-Forwarded-Prefix` of a trusted proxy.
 */
export function endpointPrefix(
  { endpoint_prefix: configured, trust_proxy_headers: isTrusting, vmcp }: GatewayConfig,
  { headers, socket }: IncomingMessage,
): string {
  const isTrusted =
    isTrusting === true && trustedProxies(vmcp.incoming.trusted_proxies ?? [])(socket.remoteAddress ?? '');
  const forwarded = isTrusted ? headers['x-forwarded-prefix'] : undefined;
  const prefix = (configured ?? (typeof forwarded === 'string' ? forwarded : '')).replace(/\/$/u, '');
  return PREFIX.test(prefix) ? prefix : '';
}
