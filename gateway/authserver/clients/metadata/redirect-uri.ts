import { classifyHost } from '../../../outbound/address-class.ts';

/** Which redirect URIs a client may register. */
export interface RedirectRules {
  /** Schemes that apps claim for themselves, such as `cursor:`. RFC 8252 §7.1 */
  readonly privateUse: boolean;
  /** The machine of the user. RFC 8252 §7.3 */
  readonly loopback: boolean;
  /** https to literal addresses of private networks. Development only. */
  readonly privateAddresses: boolean;
}

export interface RedirectTarget {
  readonly kind: 'https' | 'loopback' | 'private-use';
  /** Host with port, or the scheme with its colon. ASCII: names of other scripts appear in punycode. */
  readonly shown: string;
}

const MAX_LENGTH = 2048;
export const MAX_URIS = 10;
/** RFC 3986 §2, without `#` and `*`. */
const URI_TEXT = /^(?:[\w\-.~:/?[\]@!$&'()+,;=]|%[\da-f]{2})+$/iu;
const ENCODED_CONTROL = /%(?:[01][\da-f]|7f)/iu;
const AUTHORITY = /^[^:/?]+:\/\/([^/?]*)/u;
const LOOPBACK_HOST = /^(?:127(?:\.\d{1,3}){3}|\[::1\]|localhost)$/u;
const ADDRESS = /^(?:\[.*\]|\d+(?:\.\d+){3})$/u;
/** Scheme and host, port, the rest. */
const LOOPBACK_URI = /^(http:\/\/(?:127(?:\.\d{1,3}){3}|\[::1\]|localhost))(?::(\d{1,5}))?((?:[/?].*)?)$/u;

/** What browsers and operating systems act upon by themselves: no app that waits for a code is behind these. */
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
 * What stands against registering these as `name`. The messages quote nothing of the URIs.
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

/** What stands against registering this; undefined if nothing. */
export function checkRedirectUri(uri: string, rules: RedirectRules): string | undefined {
  if (uri === '' || uri.length > MAX_LENGTH) return `must have 1 to ${String(MAX_LENGTH)} characters`;
  if (uri.includes('#')) return 'must have no fragment';
  if (uri.includes('*')) return 'must have no wildcard';
  if (!URI_TEXT.test(uri) || ENCODED_CONTROL.test(uri)) return 'has characters that do not belong into a redirect URI';
  const url = URL.parse(uri);
  if (url === null) return 'must be an absolute URI';
  const authority = AUTHORITY.exec(uri)?.[1] ?? '';
  if (authority.includes('@')) return 'must have no user name or password';
  if (authority.includes('%')) return 'must have no encoded characters in its host';
  // Two parsers can only read it differently when it is not the normal form.
  if (url.href !== uri && url.href !== `${uri}/`) return 'must be written in its normal form';
  return checkTarget(url, rules);
}

function checkTarget({ protocol, hostname, href }: URL, rules: RedirectRules): string | undefined {
  const loopback = LOOPBACK_HOST.test(hostname);
  if (protocol === 'http:' && !loopback) return 'must use https: http is for 127.0.0.1, [::1] and localhost only';
  if (protocol !== 'https:' && protocol !== 'http:') return checkPrivateUse(protocol.slice(0, -1), href, rules);
  if (loopback) return rules.loopback ? undefined : 'must not lead to this machine: the client has a secret';
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
  return href.startsWith(`${scheme}:/`) ? undefined : 'must have a slash behind its scheme';
}

/** Equal text; of http to a loopback host the port may be another. RFC 8252 §7.3, OAuth 2.1 §4.1.3 */
export const matchesRedirectUri = (registered: readonly string[], requested: string): boolean =>
  registered.some((uri) => uri === requested || differsInPortOnly(uri, requested));

function differsInPortOnly(registered: string, requested: string): boolean {
  const [, host, , rest] = LOOPBACK_URI.exec(registered) ?? [];
  const [, otherHost, port = '80', otherRest] = LOOPBACK_URI.exec(requested) ?? [];
  const realPort = !port.startsWith('0') && Number(port) <= 65_535;
  return host !== undefined && host === otherHost && rest === otherRest && realPort;
}

/** Where a registered URI leads, for people. */
export function redirectTarget(uri: string): RedirectTarget {
  const { protocol, hostname, host } = new URL(uri);
  if (protocol !== 'https:' && protocol !== 'http:') return { kind: 'private-use', shown: protocol };
  return { kind: LOOPBACK_HOST.test(hostname) ? 'loopback' : 'https', shown: host };
}
