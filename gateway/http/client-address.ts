import type { IncomingMessage } from 'node:http';
import ipaddr from 'ipaddr.js';

type Cidr = [ipaddr.IPv4 | ipaddr.IPv6, number];

/** Returns a function that recognises the addresses of trusted proxies. `trusted` are CIDRs or addresses. */
export function trustedProxies(trusted: readonly string[]): (address: string) => boolean {
  const proxies = trusted.map(cidrOf);
  return (address) => {
    if (!ipaddr.isValid(address)) return false;
    const parsed = ipaddr.process(address);
    return proxies.some(([net, bits]) => net.kind() === parsed.kind() && parsed.match([net, bits] as never));
  };
}

const cidrOf = (text: string): Cidr => {
  if (text.includes('/')) return ipaddr.parseCIDR(text);
  const address = ipaddr.process(text);
  return [address, address.kind() === 'ipv4' ? 32 : 128];
};

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

/** Returns the client address, or undefined if many clients may share the known address, so that it must not be limited. */
export type AddressOf = (req: IncomingMessage) => string | undefined;

/**
 * Creates the reader of client addresses. From the right end of `X-Forwarded-For`, it takes the first address that is not a
 * trusted proxy. Without a trusted proxy it accepts loopback peers only, because any other peer may be an unlisted proxy.
 * `trusted` are CIDRs or addresses.
 */
export function clientAddresses(trusted: readonly string[]): AddressOf {
  const addressOf = forwardedAddresses(trusted);
  return (req) => {
    const address = addressOf(req);
    return address !== (req.socket.remoteAddress ?? '') || isLoopback(address) ? address : undefined;
  };
}

const isLoopback = (address: string): boolean =>
  ipaddr.isValid(address) && ipaddr.process(address).range() === 'loopback';

/** Key of the shared bucket for requests without a known address. */
export const EVERYBODY = 'all';

/** Returns the bucket key of a peer's address. For IPv6 it is the /64 network, since one peer may use all of it. */
export function addressKey(address: string): string {
  if (!ipaddr.isValid(address)) return 'unknown';
  const parsed = ipaddr.process(address);
  if (parsed instanceof ipaddr.IPv4) return parsed.toString();
  const network = parsed.parts.slice(0, 4).map((part) => part.toString(16));
  return `${network.join(':')}::/64`;
}
