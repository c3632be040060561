interface Cookie {
  readonly name: string;
  readonly value: string;
  readonly path: string;
  readonly secure: boolean;
  readonly httpOnly: boolean;
  readonly sameSite: string;
  readonly expiresAt: number;
}

export interface CookieRequest {
  /** True for a request that another site initiated. */
  readonly crossSite: boolean;
  readonly method: string;
}

/**
 * Cookies by host; as in browsers, the port does not matter. Rejects a `Domain` attribute: no cookie of the gateway may
 * have a path. With `isLoopbackSecure` it keeps and sends `Secure` cookies over http, as Chromium does on loopback: identity
 * providers rely on it. @see RFC 6265bis §5
 */
export class CookieJar {
  readonly #byHost = new Map<string, Map<string, Cookie>>();
  readonly #isLoopbackSecure: boolean;

  constructor({ isLoopbackSecure = false }: { readonly isLoopbackSecure?: boolean } = {}) {
    this.#isLoopbackSecure = isLoopbackSecure;
  }

  /** Stores the values of `Set-Cookie`. Throws an Error for a cookie that a browser would reject. */
  keep(url: URL, lines: readonly string[]): void {
    for (const line of lines) {
      const cookie = parse(line);
      const refusal = refusalOf(cookie, line, this.#isSecure(url));
      if (refusal !== undefined) throw new Error(`a browser refuses the cookie ${cookie.name}: ${refusal}`);
      const cookies = this.#byHost.get(url.hostname) ?? new Map<string, Cookie>();
      const key = `${cookie.name} ${cookie.path}`;
      if (cookie.expiresAt <= Date.now()) cookies.delete(key);
      else cookies.set(key, cookie);
      this.#byHost.set(url.hostname, cookies);
    }
  }

  /** Returns the value of `Cookie`; empty without cookies. */
  header(url: URL, { crossSite, method }: CookieRequest): string {
    return this.of(url.hostname)
      .filter(({ expiresAt }) => expiresAt > Date.now())
      .filter(({ secure }) => !secure || this.#isSecure(url))
      .filter(({ path }) => isBelow(url.pathname, path))
      .filter(({ sameSite }) => !crossSite || sameSite === 'none' || (sameSite === 'lax' && method === 'GET'))
      .map(({ name, value }) => `${name}=${value}`)
      .join('; ');
  }

  of(hostname: string): readonly Cookie[] {
    return [...(this.#byHost.get(hostname)?.values() ?? [])];
  }

  #isSecure(url: URL): boolean {
    return url.protocol === 'https:' || this.#isLoopbackSecure;
  }
}

function parse(line: string): Cookie {
  const [pair = '', ...attributes] = line.split(/; */u);
  const at = (wanted: string): string | undefined => {
    const found = attributes.find((attribute) => attribute.toLowerCase().split('=')[0] === wanted);
    return found === undefined ? undefined : found.slice(wanted.length + 1);
  };
  const maxAge = at('max-age');
  const expires = at('expires');
  const end = expires === undefined ? Number.POSITIVE_INFINITY : Date.parse(expires);
  const split = pair.indexOf('=');
  return {
    name: pair.slice(0, split),
    value: pair.slice(split + 1),
    path: at('path') ?? '/',
    secure: at('secure') !== undefined,
    httpOnly: at('httponly') !== undefined,
    sameSite: (at('samesite') ?? 'lax').toLowerCase(),
    expiresAt: maxAge === undefined ? end : Date.now() + Number(maxAge) * 1_000,
  };
}

function refusalOf({ name, path, secure, sameSite }: Cookie, line: string, isSecure: boolean): string | undefined {
  if (/; *domain=/iu.test(line)) return 'it has a Domain attribute';
  if (secure && !isSecure) return 'it is Secure, the page is not';
  if (name.startsWith('__Host-') && (!secure || path !== '/')) return '__Host- asks for Secure and Path=/';
  if (sameSite === 'none' && !secure) return 'SameSite=None asks for Secure';
  return line.length > 4_096 ? 'it is too long' : undefined;
}

const isBelow = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`);
