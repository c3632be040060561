import { classifyHost } from '../../../outbound/address-class.ts';

/** Redirect URIs that a client may register. */
export interface RedirectRules {
  /** Private-use schemes such as `cursor:`. RFC 8252 §7.1 */
  readonly privateUse: boolean;
  /** Loopback hosts: the machine of the user. RFC 8252 §7.3 */
  readonly loopback: boolean;
  /** https to literal addresses of private networks. Development only. */
  readonly privateAddresses: boolean;
}

export interface RedirectTarget {
  readonly kind: 'https' | 'loopback' | 'private-use';
  /** Host and port, or the scheme with its colon. ASCII: names in other scripts appear in punycode. */
  readonly shown: string;
}

const MAX_LENGTH = 2048;
export const MAX_URIS = 10;
/** Characters of a URI: RFC 3986 §2, without `#` and `*`. */
const URI_TEXT = /^(?:[\w\-.~:/?[\]@!$&'()+,;=]|%[\da-f]{2})+$/iu;
const ENCODED_CONTROL = /%(?:[01][\da-f]|7f)/iu;
const AUTHORITY = /^[^:/?]+:\/\/([^/?]*)/u;
const LOOPBACK_HOST = /^(?:127(?:\.\d{1,3}){3}|\[::1\]|localhost)$/u;
const ADDRESS = /^(?:\[.*\]|\d+(?:\.\d+){3})$/u;
/** Captures scheme and host, port, and the rest. */
const LOOPBACK_URI = /^(http:\/\/(?:127(?:\.\d{1,3}){3}|\[::1\]|localhost))(?::(\d{1,5}))?((?:[/?].*)?)$/u;

/** Schemes that browsers and operating systems handle themselves: no client receives a code there. */
const DENIED_SCHEMES: ReadonlySet<string> = new Set(
  [
    'javascript data vbscript file filesystem blob about ftp ftps sftp ws wss mailto intent view-source',
    'edge opera brave jar resource moz-extension safari-extension safari-web-extension android-app market itms',
    'cid mid mhtml mk its hcp res shell search search-ms urn tel sms smsto callto facetime geo webcal feed',
    'ldap ldaps telnet ssh gopher news nntp irc rtsp rtmp smb afp nfs git svn dict tftp magnet wais',
  ].flatMap((line) => line.split(' ')),
);
const DENIED_PREFIXES = /^(?:chrome|ms-|x-apple|itms-)/u;

/**
 * Lists the reasons why these redirect URIs cannot be registered as `name`. The messages repeat nothing from the URIs.
 * @see RFC 6749 §3.1.2, RFC 8252 §7, RFC 9700 §4.1.3
 */
export function checkRedirectUris(
  uris: readonly unknown[],
  rules: RedirectRules,
  name = 'redirect_uris',
): readonly string[] {
  if (uris.length === 0 || uris.length > MAX_URIS) return [`${name} must have 1 to ${String(MAX_URIS)} entries`];
  return uris.flatMap((uri, index) => {
    const problem = typeof uri === 'string' ? checkRedirectUri(uri, rules) : 'must be a string';
    return problem === undefined ? [] : [`${name}[${String(index)}] ${problem}`];
  });
}

/** Returns the reason why a redirect URI cannot be registered. */
export function checkRedirectUri(uri: string, rules: RedirectRules): string | undefined {
  if (uri === '' || uri.length > MAX_LENGTH) return `must have 1 to ${String(MAX_LENGTH)} characters`;
  if (uri.includes('#')) return 'must have no fragment';
  if (uri.includes('*')) return 'must have no wildcard';
  if (!URI_TEXT.test(uri) || ENCODED_CONTROL.test(uri)) return 'has characters that are not allowed in a redirect URI';
  const url = URL.parse(uri);
  if (url === null) return 'must be an absolute URI';
  const authority = AUTHORITY.exec(uri)?.[1] ?? '';
  if (authority.includes('@')) return 'must have no user name or password';
  if (authority.includes('%')) return 'must have no encoded characters in its host';
  // Parsers may disagree about a URI that is not in its normal form.
  if (url.href !== uri && url.href !== `${uri}/`) return 'must be written in its normal form';
  return checkTarget(url, rules);
}

function checkTarget({ protocol, hostname, href }: URL, rules: RedirectRules): string | undefined {
  const loopback = LOOPBACK_HOST.test(hostname);
  if (protocol === 'http:' && !loopback) return 'must use https: http is for 127.0.0.1, [::1] and localhost only';
  if (protocol !== 'https:' && protocol !== 'http:') return checkPrivateUse(protocol.slice(0, -1), href, rules);
  if (loopback) return rules.loopback ? undefined : 'must not be on a loopback host: the client has a secret';
  return ADDRESS.test(hostname) ? checkLiteral(hostname, rules) : undefined;
}

function checkLiteral(hostname: string, { privateAddresses }: RedirectRules): string | undefined {
  const found = classifyHost(hostname);
  if (found === 'public' || (found === 'private' && privateAddresses)) return undefined;
  return 'must not name an address of a private network';
}

function checkPrivateUse(scheme: string, href: string, { privateUse }: RedirectRules): string | undefined {
  if (DENIED_SCHEMES.has(scheme) || DENIED_PREFIXES.test(scheme)) return 'has a scheme that is not allowed';
  if (!privateUse) return 'must use https, or http to 127.0.0.1, [::1] or localhost';
  return href.startsWith(`${scheme}:/`) ? undefined : 'must have a slash after its scheme';
}

/** Compares the text; the port of http to a loopback host may differ. RFC 8252 §7.3, OAuth 2.1 §4.1.3 */
export const matchesRedirectUri = (registered: readonly string[], requested: string): boolean =>
  registered.some((uri) =>
    uri.includes('*') ? matchesPattern(uri, requested) : uri === requested || differsInPortOnly(uri, requested),
  );

/**
 * Returns the reason why a pattern for redirect URIs is not allowed. Only the operator writes patterns: http to a loopback host,
 * with `*` in the path for one segment, because some clients use another path for each server.
 */
export function checkPattern(pattern: string): string | undefined {
  const [, host, , rest = ''] = LOOPBACK_URI.exec(pattern) ?? [];
  if (host === undefined || !/^\/[^?]*$/u.test(rest))
    return 'may have a * in the path of http to 127.0.0.1, [::1] or localhost only';
  return checkRedirectUri(pattern.replaceAll('*', 'x'), { loopback: true, privateUse: false, privateAddresses: false });
}

function matchesPattern(pattern: string, requested: string): boolean {
  const [, host, , rest = ''] = LOOPBACK_URI.exec(pattern) ?? [];
  const [, otherHost, port, otherRest = ''] = LOOPBACK_URI.exec(requested) ?? [];
  if (host === undefined || host !== otherHost || requested.includes('*')) return false;
  const rules = { loopback: true, privateUse: false, privateAddresses: false };
  if (checkRedirectUri(requested, rules) !== undefined || port?.startsWith('0') === true) return false;
  const [own, others] = [rest.split('/'), otherRest.split('/')];
  return own.length === others.length && own.every((part, index) => matchesSegment(part, others[index] ?? ''));
}

/** Compares one segment; the pattern may have one `*`, for one character at least. */
function matchesSegment(pattern: string, segment: string): boolean {
  const [start = '', end, more] = pattern.split('*');
  if (end === undefined) return pattern === segment;
  if (more !== undefined || /[?%]/u.test(segment)) return false;
  return segment.length > start.length + end.length && segment.startsWith(start) && segment.endsWith(end);
}

function differsInPortOnly(registered: string, requested: string): boolean {
  const [, host, , rest] = LOOPBACK_URI.exec(registered) ?? [];
  const [, otherHost, port = '80', otherRest] = LOOPBACK_URI.exec(requested) ?? [];
  const realPort = !port.startsWith('0') && Number(port) <= 65_535;
  return host !== undefined && host === otherHost && rest === otherRest && realPort;
}

/** Returns the target of a registered redirect URI for display. */
export function redirectTarget(uri: string): RedirectTarget {
  const { protocol, hostname, host } = new URL(uri);
  if (protocol !== 'https:' && protocol !== 'http:') return { kind: 'private-use', shown: protocol };
  return { kind: LOOPBACK_HOST.test(hostname) ? 'loopback' : 'https', shown: host };
}
