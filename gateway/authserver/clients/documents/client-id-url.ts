/** Hosts that may publish clients. An entry is a host name, or `*.` and a domain for all its subdomains. */
export interface HostPolicy {
  /** Empty to allow all hosts. */
  readonly allowedHosts: readonly string[];
  readonly deniedHosts: readonly string[];
  /** Allow loopback hosts, also by http. Development only. */
  readonly allowLoopbackHttp: boolean;
}

const MAX_LENGTH = 2048;
/** Characters of a URI (RFC 3986 §2), without `#`. */
const URL_TEXT = /^(?:[\w\-.~:/?[\]@!$&'()*+,;=]|%[\da-f]{2})+$/iu;
const LOOPBACK_HOST = /^(?:127(?:\.\d{1,3}){3}|\[::1\]|localhost)$/u;

export const INSECURE = 'is not https';
/** Reasons of the lists of hosts. */
export const HOST_PROBLEMS = { denied: 'is of a denied host', other: 'is of a host that is not allowed' } as const;

/** Returns true for a client id that is the URL of a document. `checkClientIdUrl` decides if it may be fetched. */
export const isClientIdUrl = (clientId: string): boolean => /^https?:\/\//iu.test(clientId);

/** Returns true for a URL whose host is a loopback name or address. */
export const isLoopbackUrl = (url: string): boolean => LOOPBACK_HOST.test(new URL(url).hostname);

/** Returns the reason why a client id must not be fetched. @see draft-ietf-oauth-client-id-metadata-document §3 */
export function checkClientIdUrl(clientId: string, policy: HostPolicy): string | undefined {
  if (clientId.length > MAX_LENGTH) return 'is too long';
  if (!URL_TEXT.test(clientId)) return 'has characters that are not allowed in a URL, or a fragment';
  const url = URL.parse(clientId);
  if (url === null) return 'is not a URL';
  if (url.username !== '' || url.password !== '') return 'has a user name or password';
  // Rejects dot segments (also encoded ones), capitals and default ports.
  if (url.href !== clientId) return 'is not written in its normal form';
  if (url.pathname === '/') return 'has no path';
  const development = policy.allowLoopbackHttp && LOOPBACK_HOST.test(url.hostname);
  if (url.protocol !== 'https:' && !development) return INSECURE;
  return checkHostPolicy(url.hostname, policy);
}

function checkHostPolicy(hostname: string, { allowedHosts, deniedHosts }: HostPolicy): string | undefined {
  if (hostname.endsWith('.')) return 'has a host with a dot at its end';
  if (deniedHosts.some((entry) => namesHost(entry, hostname))) return HOST_PROBLEMS.denied;
  const allowed = allowedHosts.length === 0 || allowedHosts.some((entry) => namesHost(entry, hostname));
  return allowed ? undefined : HOST_PROBLEMS.other;
}

/** Returns true for a host name that the entry is, or that is below its domain. */
function namesHost(entry: string, hostname: string): boolean {
  const host = entry.toLowerCase();
  return host.startsWith('*.') ? hostname.endsWith(host.slice(1)) : hostname === host;
}

/** Captures scheme, host with port, and the rest. */
const URL_PARTS = /^(https?:\/\/)([^/?#]+)(\/.*)$/u;

/**
 * Returns true for a client that the entry of a rule names: by its client id, by the host of its metadata document (`HOST`, or
 * `*.DOMAIN` for all subdomains), or by a URL with `*` in its path for any characters. Client ids of documents may differ for each
 * MCP server, so that exact ids alone would not do.
 */
export function matchesClient(entry: string, clientId: string): boolean {
  if (entry === clientId) return true;
  if (!isClientIdUrl(clientId)) return false;
  const [, scheme = '', host = '', rest = ''] = URL_PARTS.exec(clientId) ?? [];
  if (!entry.includes('://')) return scheme === 'https://' && entry.includes('.') && namesHost(entry, host);
  const [, ownScheme, ownHost = '', pattern = ''] = URL_PARTS.exec(entry) ?? [];
  return ownScheme === scheme && ownHost === host && matchesText(pattern, rest);
}

/** Compares a text with a pattern in which `*` stands for any characters. Takes linear time for each `*`. */
function matchesText(pattern: string, text: string): boolean {
  const [first = '', ...others] = pattern.split('*');
  const last = others.pop();
  if (last === undefined) return text === first;
  if (!text.startsWith(first) || text.length < first.length + last.length || !text.endsWith(last)) return false;
  let from = first.length;
  const end = text.length - last.length;
  for (const part of others) {
    const at = text.indexOf(part, from);
    if (at === -1 || at + part.length > end) return false;
    from = at + part.length;
  }
  return true;
}
