import type { Problem } from './problem.ts';
import { isEncrypted } from './rule.ts';
const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.|$)){4}$/u;
const IPV6 = /^(?=[^:]*:)[\da-f:.]+$/iu;

/** Returns the problem of a network in CIDR notation, such as 10.0.0.0/8 or fd00::/8, whose hosts are to be trusted. */
export function networkFault(text: string): string | undefined {
  const [, address = '', digits = ''] = /^([^/]+)\/(\d{1,3})$/u.exec(text) ?? [];
  const ipv6 = IPV6.test(address) && URL.canParse(`http://[${address}]/`);
  if (!ipv6 && !IPV4.test(address)) return `"${text}" is not a network: write ADDRESS/BITS, such as 10.0.0.0/8`;
  const bits = Number(digits);
  if (bits > (ipv6 ? 128 : 32)) return `"${text}" has more bits than an address: write /${ipv6 ? '128' : '32'} or less`;
  return bits === 0 ? `"${text}" holds every address, so that everybody would be trusted: name the proxies` : undefined;
}
/** Returns the problem of an issuer or another URL that is compared byte by byte and to which paths are appended. */
export function baseUrlFault(text: string): { readonly reason: string; readonly message: string } | undefined {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/u.test(url.protocol)) {
    return { reason: 'InvalidUrl', message: 'not an http or https URL: write https://HOST' };
  }
  if (url.username !== '' || url.password !== '') {
    return { reason: 'CredentialsInUrl', message: 'the URL contains a user name or password: remove it' };
  }
  const plain = `${url.origin}${url.pathname.replace(/(?<!\/)\/+$/u, '')}`;
  if (text === plain) return undefined;
  const message = `it is compared byte by byte, and has no query, fragment or slash at its end: write ${plain}`;
  return { reason: 'InvalidUrl', message };
}

const originOf = (url: string): string | undefined => URL.parse(url)?.origin;

/** Addresses of the login pages. */
export interface LoginAddresses {
  readonly issuer: string;
  readonly authorizationEndpointBaseUrl?: string | undefined;
}

/** Paths of the authorization server below its addresses; other paths of the host may belong to others. */
const OWN_FOLDERS = ['/oauth/', '/.well-known/'];

/** Returns true for an address of the authorization server itself, in any spelling. */
export const isServedBy = (
  text: string,
  { issuer, authorizationEndpointBaseUrl: base = issuer }: LoginAddresses,
): boolean => [issuer, base].some((root) => isBelow(text, root));

function isBelow(text: string, own: string): boolean {
  const [url, root] = [URL.parse(text), URL.parse(own)];
  if (!url || !root || url.origin !== root.origin) return false;
  const base = root.pathname.replace(/\/$/u, '');
  const path = url.pathname.replace(/\/$/u, '');
  return path === base || OWN_FOLDERS.some((folder) => path.startsWith(base + folder));
}

/** Redirect URI of the first provider, and of others whose answers hold `iss`. @see RFC 9207 */
export const sharedCallback = (issuer: string): string => `${issuer}/oauth/callback`;

/** Redirect URI of a later provider whose answers hold no `iss`. @see RFC 9700 §4.4.2.2 */
export const ownCallback = (issuer: string, provider: string): string =>
  `${sharedCallback(issuer)}/${encodeURIComponent(provider)}`;

/** Returns the message about a URL of the gateway itself. `advice` says what to do. */
export const circular = (advice: string): string =>
  `this is an address of the embedded authorization server itself, which would ask itself: ${advice}`;

/**
 * Lists the problems of the providers' redirect URIs; an absent one means the server's own callback. The cookies of
 * a login are bound to one origin, to which every provider must send the browser back.
 */
export function redirectUriFaults(
  { issuer, authorizationEndpointBaseUrl: base }: LoginAddresses,
  redirectUris: readonly (string | undefined)[],
): (string | undefined)[] {
  const own = [...new Set([issuer, base ?? issuer].map(originOf))];
  const origins = redirectUris.map((uri) => originOf(uri ?? issuer));
  const [first] = origins;
  return origins.map((origin) => {
    if (!own.includes(origin))
      return `the provider sends users back to this server: use the origin ${own.join(' or ')}`;
    if (origin === first) return undefined;
    return `every provider must send users back to one origin, and the first one does to ${String(first)}: make them equal`;
  });
}

/** Lists problems of a configured URL that need no look-up. */
export function urlProblems(text: string, path: string, insecure: boolean): Problem[] {
  const problem = (reason: string, message: string): Problem[] => [{ reason, path, message }];
  const url = URL.parse(text);
  if (!url || !/^https?:$/u.test(url.protocol)) {
    return problem('InvalidUrl', 'not an http or https URL: write https://HOST/PATH');
  }
  if (url.username !== '' || url.password !== '') {
    return problem(
      'CredentialsInUrl',
      'the URL contains a user name or password: use client_id and client_secret_file',
    );
  }
  if (url.hash !== '') {
    return problem('InvalidUrl', 'the URL has a fragment, which is never sent: remove the # and the text after it');
  }
  if (insecure || isEncrypted(url.href)) return [];
  return problem('InsecureUrl', 'http is not encrypted: use https, or set insecure_allow_http: true');
}
