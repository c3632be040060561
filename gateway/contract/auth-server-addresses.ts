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
