import ipaddr from 'ipaddr.js';
import type { ContainerIsolation } from '../../../contract/container.ts';
import { classifyAddress, classifyHost } from '../../../outbound/address-class.ts';

export interface Destination {
  /** Name or literal address, in lower case, without brackets. */
  readonly host: string;
  readonly port: number;
}

/** Names that container engines give to the container host. */
const HOST_NAMES: ReadonlySet<string> = new Set([
  'host.docker.internal',
  'gateway.docker.internal',
  'host.containers.internal',
  'host.lima.internal',
]);

/** `host:port`, where an IPv6 address stands in brackets. */
const AUTHORITY = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9_.-]+)):(\d{1,5})$/iu;

/** Parses the target of a CONNECT request (RFC 9110 §9.3.6). Undefined for other texts. */
export function parseAuthority(text: string): Destination | undefined {
  const [, address, name, digits] = AUTHORITY.exec(text) ?? [];
  const host = bare(address ?? name ?? '');
  const port = Number(digits);
  return host !== '' && port >= 1 && port <= 65_535 ? { host, port } : undefined;
}

/** Returns true for a name of the container host, which resolves to its loopback address. */
export const isHostName = ({ host }: Destination): boolean => HOST_NAMES.has(host) || classifyHost(host) === 'loopback';

/** Returns the reason why a destination is refused before its name is resolved; undefined when it may be resolved. */
export function nameFault(to: Destination, isolation: ContainerIsolation): string | undefined {
  if (classifyHost(to.host) === 'forbidden') return 'it is a link-local, metadata, multicast or reserved address';
  const hostAllowed = isolation.allow_container_gateway === true;
  if (isHostName(to)) return hostAllowed ? undefined : HOST_ADVICE;
  if (hostAllowed && ipaddr.isValid(to.host)) return undefined; // it can be an address of the container host
  return isListed(to, isolation) ? undefined : LIST_ADVICE;
}

/** Returns the reason why an address of a destination is refused. `own` holds the addresses of the container host. */
export function addressFault(
  to: Destination,
  address: string,
  isolation: ContainerIsolation,
  own: ReadonlySet<string>,
): string | undefined {
  const found = classifyAddress(address);
  if (found === 'forbidden') return 'it has a link-local, metadata, multicast or reserved address';
  if (found === 'loopback' || own.has(canonical(address))) {
    return isolation.allow_container_gateway === true ? undefined : HOST_ADVICE;
  }
  return isListed(to, isolation) ? undefined : LIST_ADVICE;
}

const HOST_ADVICE = 'it is the container host, which needs allow_container_gateway';
const LIST_ADVICE = 'the permission profile does not allow it';

/** Returns true when the lists allow a destination. An absent list does not limit, but without both nothing is allowed. */
function isListed({ host, port }: Destination, isolation: ContainerIsolation): boolean {
  const { allow_all, allow_hosts = [], allow_ports = [] } = isolation;
  if (allow_all === true) return true;
  if (allow_hosts.length === 0 && allow_ports.length === 0) return false;
  const hostListed = allow_hosts.length === 0 || allow_hosts.some((entry) => matches(host, entry));
  return hostListed && (allow_ports.length === 0 || allow_ports.includes(port));
}

/** An entry with a leading dot matches the domain and its subdomains, another only itself. */
function matches(host: string, entry: string): boolean {
  const wanted = bare(entry);
  if (!wanted.startsWith('.')) return canonical(host) === canonical(wanted);
  return host === wanted.slice(1) || host.endsWith(wanted);
}

const bare = (host: string): string => host.replace(/^\[|\]$|\.$/gu, '').toLowerCase();

/** Returns one spelling per address; an IPv4-mapped IPv6 address becomes the IPv4 one. Other texts stay. */
export const canonical = (text: string): string =>
  /^\d|:/u.test(text) && ipaddr.isValid(text) ? ipaddr.process(text).toString() : text;
