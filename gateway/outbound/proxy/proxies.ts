import { isIP } from 'node:net';
import { classifyHost } from '../address-class.ts';
import { domainToASCII } from 'node:url';
import ipaddr from 'ipaddr.js';

/** A forward proxy of the environment. */
export interface Proxy {
  /** Variable that names it, such as `HTTPS_PROXY`. */
  readonly variable: string;
  readonly protocol: 'http:' | 'https:';
  /** Without brackets. */
  readonly hostname: string;
  readonly port: number;
  /** Host and port, for messages: never with the credential. */
  readonly place: string;
  /** Value of `Proxy-Authorization`. RFC 9110 §11.7.2 */
  readonly authorization?: string;
  /** URL with the credential, for programs that connect by themselves. */
  readonly href: string;
}

/** Destination of a request, as `URL` and undici write it. */
export interface ProxyTarget {
  readonly protocol: string;
  /** With or without brackets. */
  readonly hostname: string;
  /** Empty for the default of the protocol. */
  readonly port: string;
}

/** Proxies of this process, by the protocol of the request. */
export interface Proxies {
  readonly http?: Proxy;
  readonly https?: Proxy;
  /** Returns true for hosts in NO_PROXY. */
  readonly isExcluded: (target: HostPort) => boolean;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** A variable names no proxy. The message names the variable, and quotes nothing of its value. */
export class ProxyUrlError extends Error {
  override readonly name = 'ProxyUrlError';
}

/**
 * Reads the variables of forward proxies. The lower-case spelling comes first, and an empty variable counts as absent, as in
 * curl. In a pod the API server is excluded. @throws ProxyUrlError
 */
export function readProxies(env: Environment): Proxies | undefined {
  const [http, https] = [readProxy('HTTP_PROXY', env), readProxy('HTTPS_PROXY', env)];
  if (!http && !https) return undefined;
  const [, excluded = ''] = variableOf('NO_PROXY', env) ?? [];
  const { KUBERNETES_SERVICE_HOST: apiServer = '' } = env;
  return { ...(http && { http }), ...(https && { https }), isExcluded: parseNoProxy(`${excluded},${apiServer}`) };
}

/** Returns the name and the value of a variable in one of its spellings. */
function variableOf(name: string, env: Environment): readonly [string, string] | undefined {
  for (const spelling of [name.toLowerCase(), name]) {
    const value = (env[spelling] ?? '').trim();
    if (value !== '') return [spelling, value];
  }
  return undefined;
}

function readProxy(name: string, env: Environment): Proxy | undefined {
  const [variable, value] = variableOf(name, env) ?? [];
  if (variable === undefined || value === undefined) return undefined;
  const url = URL.parse(/^[a-z][a-z0-9+.-]*:\/\//iu.test(value) ? value : `http://${value}`);
  const protocol = url?.protocol;
  if ((protocol !== 'http:' && protocol !== 'https:') || url === null || url.port === '0') {
    const form = 'http://HOST:PORT or https://HOST:PORT, with USER:PASSWORD@ in front of HOST if it asks for them';
    const advice = `write ${form} (special characters percent-encoded)`;
    throw new ProxyUrlError(`${variable} is not the URL of an HTTP proxy: ${advice}`);
  }
  const port = Number(url.port) || defaultPort(protocol);
  const [user, password] = [decoded(url.username), decoded(url.password)];
  const hasCredential = user !== '' || password !== '';
  const credential = hasCredential ? `${encodeURIComponent(user)}:${encodeURIComponent(password)}@` : '';
  return {
    variable,
    protocol,
    hostname: bare(url.hostname),
    port,
    place: `${url.hostname}:${String(port)}`,
    ...(hasCredential && { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` }),
    href: `${protocol}//${credential}${url.hostname}:${String(port)}`,
  };
}

/** Decodes a part of a URL; leaves a percent sign that encodes nothing as it is. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

let current: Proxies | undefined;

/** Sets the proxies of all later requests of this process; undefined for none. */
export function setProxies(proxies: Proxies | undefined): void {
  current = proxies;
}

/** Returns true if some requests over http go through a proxy. */
export const hasHttpProxy = (): boolean => current?.http !== undefined;

/** Returns the proxy that a request goes through; undefined for a direct connection. */
export function proxyFor({ protocol, hostname, port }: ProxyTarget): Proxy | undefined {
  const proxy = protocol === 'https:' ? current?.https : protocol === 'http:' ? current?.http : undefined;
  if (!proxy || !current) return undefined;
  const host = bare(hostname);
  const target = { host, port: Number(port) || defaultPort(protocol) };
  return isInside(host) || current.isExcluded(target) ? undefined : proxy;
}

/** Returns true for loopback, and for names of Services and of the API server in a cluster: no proxy leads there. */
function isInside(host: string): boolean {
  const hostClass = classifyHost(host);
  return hostClass === 'loopback' || (isIP(host) === 0 && hostClass !== 'public');
}

const defaultPort = (protocol: string): number => (protocol === 'https:' ? 443 : 80);

const bare = (hostname: string): string =>
  hostname
    .replace(/^\[|\]$/gu, '')
    .replace(/\.$/u, '')
    .toLowerCase();

/** Host and port of a URL: the host in lower case, without brackets and trailing dot. */
interface HostPort {
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
