import type { IncomingMessage } from 'node:http';
import ipaddr from 'ipaddr.js';

type Cidr = [ipaddr.IPv4 | ipaddr.IPv6, number];

/** Address of the client; undefined: many clients may share what is known of it, so that no limit may go by it. */
export type AddressOf = (req: IncomingMessage) => string | undefined;

/**
 * Reads the addresses of clients. `X-Forwarded-For` is believed as far as the proxies that wrote it are trusted: from the
 * right, the first address that is not a proxy's counts. Without a trusted proxy a peer counts on loopback only: any
 * other may be a proxy that nobody named. `trusted` are CIDRs or addresses.
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
