import type { IncomingMessage } from 'node:http';
import ipaddr from 'ipaddr.js';
import { trustedProxies } from './trusted-proxies.ts';

/**
 * Creates the reader of addresses: that of the peer, or when the peer is a trusted proxy, from the right end of
 * `X-Forwarded-For` the first address that is not a trusted proxy. `trusted` are CIDRs or addresses.
 */
export function forwardedAddresses(trusted: readonly string[]): (req: IncomingMessage) => string {
  if (trusted.length === 0) return peerOf;
  const isProxy = trustedProxies(trusted);
  return (req) => {
    const peer = peerOf(req);
    if (!isProxy(peer)) return peer;
    const hops = (req.headersDistinct['x-forwarded-for'] ?? []).flatMap((line) => line.split(','));
    for (const hop of hops.map((text) => text.trim()).toReversed()) {
      if (!ipaddr.isValid(hop)) return peer;
      if (!isProxy(hop)) return hop;
    }
    return peer;
  };
}

const peerOf = ({ socket }: IncomingMessage): string => socket.remoteAddress ?? '';
