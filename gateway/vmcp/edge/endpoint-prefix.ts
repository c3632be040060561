import type { IncomingMessage } from 'node:http';
import { trustedProxies } from '../../http/client-address.ts';
import type { GatewayConfig } from '../../contract/gateway-config.ts';
import { prefixOf, publicPathsOf } from '../../contract/paths/public-paths.ts';

/**
 * Returns the path that clients must put in front of the paths of the gateway: that of the configuration, else
 * `X-Forwarded-Prefix` of a trusted proxy.
 */
export function endpointPrefix(config: GatewayConfig, req: IncomingMessage): string {
  const { prefix } = publicPathsOf(config);
  return prefix === '' && isFromTrustedProxy(config, req) ? forwardedPrefix(req) : prefix;
}

const isFromTrustedProxy = (
  { trust_proxy_headers: isTrusting, vmcp }: GatewayConfig,
  { socket }: IncomingMessage,
): boolean => isTrusting !== false && trustedProxies(vmcp.incoming.trusted_proxies ?? [])(socket.remoteAddress ?? '');

/** Returns the prefixes of all proxies, the outermost first. Each proxy adds a line or an item. */
function forwardedPrefix({ headersDistinct }: IncomingMessage): string {
  const items = (headersDistinct['x-forwarded-prefix'] ?? []).flatMap((line) => line.split(','));
  return prefixOf(items.map((item) => item.trim().replace(/\/$/u, '')).join(''));
}
