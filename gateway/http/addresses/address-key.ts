import ipaddr from 'ipaddr.js';

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
