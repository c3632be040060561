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
