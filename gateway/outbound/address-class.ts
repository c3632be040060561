import ipaddr from 'ipaddr.js';

/** Class of a host or an address. No flag allows `forbidden`. */
export type HostClass = 'public' | 'private' | 'loopback' | 'forbidden';

/** Matches texts that may be IP addresses: for others ipaddr.js throws and catches an Error, 20 µs each. */
const MAYBE_ADDRESS = /^\d|:/u;
const METADATA_NAMES = /^(metadata|metadata\.google\.internal|instance-data(\..*)?)$/u;
const API_SERVER_NAMES = /^kubernetes(\.default(\.svc(\.cluster\.local)?)?)?$/u;

/** Returns the class of a host in a URL. Classifies names by their text, without a DNS lookup. */
export function classifyHost(hostname: string): HostClass {
  const host = bareHost(hostname);
  if (MAYBE_ADDRESS.test(host) && ipaddr.isValid(host)) return classifyAddress(host);
  if (host === 'localhost' || host.endsWith('.localhost')) return 'loopback';
  if (API_SERVER_NAMES.test(host) || METADATA_NAMES.test(host)) return 'forbidden';
  if (host.endsWith('.cluster.local') || host.endsWith('.svc')) return 'private';
  return 'public';
}

/** Host names of the API server in a cluster. */
export const isApiServerName = (hostname: string): boolean => API_SERVER_NAMES.test(bareHost(hostname));

const bareHost = (hostname: string): string =>
  hostname
    .replace(/^\[|\]$/gu, '')
    .replace(/\.$/u, '')
    .toLowerCase();

/** Ranges of ipaddr.js for private networks. */
const PRIVATE_RANGES: ReadonlySet<string> = new Set([
  'private',
  'carrierGradeNat',
  'uniqueLocal',
  'deprecatedSiteLocal',
  'benchmarking',
]);
/** RFC 2544; proxies on laptops answer look-ups with addresses from here. ipaddr.js calls them reserved. */
const BENCHMARKING = ipaddr.IPv4.parseCIDR('198.18.0.0/15');
/** Local NAT64 prefixes. @see RFC 8215 */
const LOCAL_NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b:1::/48');
/** Global unicast range. @see RFC 4291 §2.4 */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');
/** Cloud metadata services outside of the link-local range. */
const METADATA_ADDRESSES: ReadonlySet<string> = new Set([
  '100.100.100.200',
  '168.63.129.16',
  'fd00:ec2::254',
  'fd20:ce::254',
]);

/** RFC 4291 §2.5.5.1, deprecated: ipaddr.js takes this spelling for an IPv4-mapped address. */
const IPV4_COMPATIBLE = /^::\d+\.\d+\.\d+\.\d+$/u;

/** Returns the class of an IPv4 or IPv6 address, or of the IPv4 address embedded in it. Other texts are forbidden. */
export function classifyAddress(text: string): HostClass {
  if (!ipaddr.isValid(text) || IPV4_COMPATIBLE.test(text)) return 'forbidden';
  const address = ipaddr.process(text); // an IPv4-mapped IPv6 address becomes the IPv4 one
  return address instanceof ipaddr.IPv4 ? classifyIpv4(address) : classifyIpv6(address);
}

function classifyIpv4(address: ipaddr.IPv4): HostClass {
  if (METADATA_ADDRESSES.has(address.toString())) return 'forbidden';
  const range = address.range();
  if (range === 'loopback') return 'loopback';
  if (PRIVATE_RANGES.has(range) || address.match(BENCHMARKING)) return 'private';
  return range === 'unicast' ? 'public' : 'forbidden';
}

function classifyIpv6(address: ipaddr.IPv6): HostClass {
  if (METADATA_ADDRESSES.has(address.toString())) return 'forbidden';
  const range = address.range();
  if (range === 'loopback') return 'loopback';
  const embedded = embeddedIpv4(address, range);
  if (embedded) {
    const inner = classifyIpv4(embedded);
    if (inner === 'loopback') return 'forbidden'; // that of the translator
    return inner === 'public' && address.match(LOCAL_NAT64) ? 'private' : inner;
  }
  if (PRIVATE_RANGES.has(range)) return 'private';
  return range === 'unicast' && address.match(GLOBAL_UNICAST) ? 'public' : 'forbidden';
}

/** Returns the IPv4 address embedded in an IPv6 address of a translator or tunnel: RFC 6052, RFC 7915, RFC 3056. */
function embeddedIpv4({ parts }: ipaddr.IPv6, range: string): ipaddr.IPv4 | undefined {
  const at = range === '6to4' ? 1 : range === 'rfc6052' || range === 'rfc6145' ? 6 : undefined;
  if (at === undefined) return undefined;
  const [high = 0, low = 0] = parts.slice(at, at + 2);
  return new ipaddr.IPv4([high >> 8, high & 0xff, low >> 8, low & 0xff]);
}
