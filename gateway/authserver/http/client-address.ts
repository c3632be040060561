import type { IncomingMessage } from 'node:http';
import ipaddr from 'ipaddr.js';

type Cidr = [ipaddr.IPv4 | ipaddr.IPv6, number];

/** Returns the client address, or undefined if many clients may share the known address, so that it must not be limited. */
export type AddressOf = (req: IncomingMessage) => string | undefined;

/**
 * Creates the reader of client addresses. From the right end of `X-Forwarded-For`, it takes the first address that is not a
 * trusted proxy. Without a trusted proxy it accepts loopback peers only, because any other peer may be an unlisted proxy.
 * `trusted` are CIDRs or addresses.
 */
export function clientAddresses(trusted: readonly string[]): AddressOf {
  const proxies = trusted.map(cidrOf);
  const isProxy = (address: string): boolean => {
    if (!ipaddr.isValid(address)) return false;
    const parsed = ipaddr.process(address);
    return proxies.some(([net, bits]) => net.kind() === parsed.kind() && parsed.match([net, bits] as never));
  };
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

const cidrOf = (text: string): Cidr => {
  if (text.includes('/')) return ipaddr.parseCIDR(text);
  const address = ipaddr.process(text);
  return [address, address.kind() === 'ipv4' ? 32 : 128];
};
