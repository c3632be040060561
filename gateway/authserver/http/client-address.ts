import type { IncomingMessage } from 'node:http';
import ipaddr from 'ipaddr.js';

type Cidr = [ipaddr.IPv4 | ipaddr.IPv6, number];

/**
 * Address of who asks. `X-Forwarded-For` is believed as far as the proxies that wrote it are trusted: from the right,
 * the first address that is not a proxy's counts. `trusted` are CIDRs or addresses.
 */
export function clientAddresses(trusted: readonly string[]): (req: IncomingMessage) => string {
  const proxies = trusted.map(cidrOf);
  const isProxy = (address: string): boolean => {
    if (!ipaddr.isValid(address)) return false;
    const parsed = ipaddr.process(address);
    return proxies.some(([net, bits]) => net.kind() === parsed.kind() && parsed.match([net, bits] as never));
  };
  return (req) => {
    const peer = req.socket.remoteAddress ?? '';
    if (proxies.length === 0 || !isProxy(peer)) return peer;
    const hops = (req.headersDistinct['x-forwarded-for'] ?? []).flatMap((line) => line.split(','));
    for (const hop of hops.map((text) => text.trim()).toReversed()) {
      if (!ipaddr.isValid(hop)) return peer;
      if (!isProxy(hop)) return hop;
    }
    return peer;
  };
}

const cidrOf = (text: string): Cidr => {
  if (text.includes('/')) return ipaddr.parseCIDR(text);
  const address = ipaddr.process(text);
  return [address, address.kind() === 'ipv4' ? 32 : 128];
};
