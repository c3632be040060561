import ipaddr from 'ipaddr.js';

/** Key of the one bucket of everybody, where addresses are not known. */
export const EVERYBODY = 'all';

/** The key of a peer's address: who has one IPv6 address has the whole /64 of it. */
export function addressKey(address: string): string {
  if (!ipaddr.isValid(address)) return 'unknown';
  const parsed = ipaddr.process(address);
  if (parsed instanceof ipaddr.IPv4) return parsed.toString();
  const network = parsed.parts.slice(0, 4).map((part) => part.toString(16));
  return `${network.join(':')}::/64`;
}
