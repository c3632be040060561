import type { IncomingMessage } from 'node:http';
import ipaddr from 'ipaddr.js';
import { trustedProxies } from '../../http/trusted-proxies.ts';

/** Returns the client address, or undefined if many clients may share the known address, so that it must not be limited. */
export type AddressOf = (req: IncomingMessage) => string | undefined;

/**
 * Creates the reader of client addresses. From the right end of `X-Forwarded-For`, it takes the first address that is not a
 * trusted proxy. Without a trusted proxy it accepts loopback peers only, because any other peer may be an unlisted proxy.
 * `trusted` are CIDRs or addresses.
 */
export function clientAddresses(trusted: readonly string[]): AddressOf {
  const isProxy = trustedProxies(trusted);
  return (req) => {
    const peer = req.socket.remoteAddress ?? '';
    const ownAddress = isLoopback(peer) ? peer : undefined;
    if (!isProxy(peer)) return ownAddress;
    const hops = (req.headersDistinct['x-forwarded-for'] ?? []).flatMap((line) => line.split(','));
    for (const hop of hops.map((text) => text.trim()).toReversed()) {
      if (!ipaddr.isValid(hop)) return ownAddress;
      if (!isProxy(hop)) return hop;
    }
    return ownAddress;
  };
}

const isLoopback = (address: string): boolean =>
  ipaddr.isValid(address) && ipaddr.process(address).range() === 'loopback';
