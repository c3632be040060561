import type { Request, Response } from 'express';
import type { AuthServerSettings } from '../settings.ts';

/** Where cookies of the browser's way are set and read. */
export type CookieRules = Pick<AuthServerSettings, 'consentUrl'>;

const isSecure = ({ consentUrl }: CookieRules): boolean => consentUrl.startsWith('https:');

/** With TLS the browser itself sees to it that no other host and no plain connection has set the cookie. RFC 6265bis §4.1.3.2 */
export const cookieName = (name: string, rules: CookieRules): string => (isSecure(rules) ? `__Host-${name}` : name);

/** Cookies whose name begins so, as `[name, value]`: a browser may send several of one name. */
export const cookiesLike = (req: Request, prefix: string): readonly (readonly [string, string])[] =>
  (req.headers.cookie ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(prefix))
    .map((pair) => {
      const end = pair.includes('=') ? pair.indexOf('=') : pair.length;
      return [pair.slice(0, end), pair.slice(end + 1)];
    });

/** Every value under this name. */
export const cookiesNamed = (req: Request, name: string): readonly string[] =>
  cookiesLike(req, `${name}=`).map(([, value]) => value);

/** Names that begin so, each once. */
export const cookieNames = (req: Request, prefix: string): ReadonlySet<string> =>
  new Set(cookiesLike(req, prefix).map(([name]) => name));

/** `maxAgeSeconds` 0 takes the cookie away. Values are base64url with dots, and need no quoting. */
export function setCookie(
  res: Response,
  name: string,
  value: string,
  { maxAgeSeconds, ...rules }: CookieRules & { readonly maxAgeSeconds: number },
): void {
  const flags = `Path=/; Max-Age=${String(maxAgeSeconds)}; HttpOnly; SameSite=Lax${isSecure(rules) ? '; Secure' : ''}`;
  res.append('Set-Cookie', `${name}=${value}; ${flags}`);
}
