import { domainToASCII } from 'node:url';
import ipaddr from 'ipaddr.js';

/** Host and port of a URL: the host in lower case, without brackets and trailing dot. */
export interface HostPort {
  readonly host: string;
  readonly port: number;
}

type Rule = (target: HostPort) => boolean;

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/**
 * Returns a function that is true for the hosts in a NO_PROXY variable: `*`, names (with their subdomains; with a leading dot
 * only these), addresses and CIDR networks, all but `*` and networks optionally with a port. Entries that are none of
 * these match nothing, as in curl and Go.
 */
export function parseNoProxy(list: string): Rule {
  const entries = list.split(/[\s,]+/u).filter((entry) => entry !== '');
  const rules = entries.flatMap((entry) => ruleOf(entry.toLowerCase()) ?? []);
  return (target) => rules.some((rule) => rule(target));
}

function ruleOf(entry: string): Rule | undefined {
  if (entry === '*') return () => true;
  if (entry.includes('/')) return networkRule(entry);
  const { host, port } = splitPort(entry);
  const isPort = ({ port: own }: HostPort): boolean => port === undefined || port === own;
  const address = addressOf(host);
  if (address) return (target) => isPort(target) && addressOf(target.host)?.toString() === address.toString();
  const isHost = nameRule(host);
  return isHost && ((target) => isPort(target) && isHost(target.host));
}

function networkRule(entry: string): Rule | undefined {
  if (!ipaddr.isValidCIDR(entry)) return undefined;
  const [base, length] = ipaddr.parseCIDR(entry);
  return ({ host }) => {
    const address = addressOf(host);
    return address?.kind() === base.kind() && address.match(base, length);
  };
}

function nameRule(entry: string): ((host: string) => boolean) | undefined {
  const onlyBelow = entry.startsWith('.') || entry.startsWith('*.');
  const name = domainToASCII(entry.replace(/^\*?\./u, '').replace(/\.$/u, ''));
  if (name === '') return undefined;
  return (host) => host.endsWith(`.${name}`) || (!onlyBelow && host === name);
}

/** Splits `host:port`, `[address]:port` and `[address]`. An address with several colons has no port. */
function splitPort(entry: string): { readonly host: string; readonly port?: number } {
  const [, bracketed, plain, port] = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d+))?$/u.exec(entry) ?? [];
  const host = bracketed ?? plain ?? entry;
  return port === undefined ? { host } : { host, port: Number(port) };
}

/** Returns the address in a text; undefined for a name. An IPv4-mapped address becomes an IPv4 address. */
function addressOf(text: string): Address | undefined {
  return /^[\d.]+$|:/u.test(text) && ipaddr.isValid(text) ? ipaddr.process(text) : undefined;
}
