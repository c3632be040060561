/** What is wrong with an issuer or another URL that is compared byte by byte and to which paths are appended. */
export function baseUrlFault(text: string): { readonly reason: string; readonly message: string } | undefined {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/u.test(url.protocol)) {
    return { reason: 'InvalidUrl', message: 'not an http or https URL: write https://HOST' };
  }
  if (url.username !== '' || url.password !== '') {
    return { reason: 'CredentialsInUrl', message: 'the URL holds a user name or password: remove it' };
  }
  const plain = `${url.origin}${url.pathname.replace(/\/+$/u, '')}`;
  if (text === plain) return undefined;
  const message = `it is compared byte by byte, and has no query, fragment or slash at its end: write ${plain}`;
  return { reason: 'InvalidUrl', message };
}

const originOf = (url: string): string | undefined => URL.parse(url)?.origin;

/** Where the pages of a login stand. */
export interface LoginAddresses {
  readonly issuer: string;
  readonly authorizationEndpointBaseUrl?: string | undefined;
}

/**
 * What is wrong with each redirect URI of the providers; one that is absent is the server's own callback. The cookies of
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
