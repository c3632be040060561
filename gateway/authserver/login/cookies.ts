import type { Request, Response } from 'express';
import type { AuthServerSettings } from '../settings.ts';

/** Where cookies of the browser's way are set and read. */
export type CookieRules = Pick<AuthServerSettings, 'consentUrl'>;

const isSecure = ({ consentUrl }: CookieRules): boolean => new URL(consentUrl).protocol === 'https:';

/** With TLS the browser itself sees to it that no other host and no plain connection has set the cookie. RFC 6265bis §4.1.3.2 */
export const cookieName = (name: string, rules: CookieRules): string => (isSecure(rules) ? `__Host-${name}` : name);

/** Every value under this name: a browser may send several. */
export function cookiesNamed(req: Request, name: string): readonly string[] {
  const pairs = (req.headers.cookie ?? '').split(';').map((pair) => pair.trim());
  return pairs.filter((pair) => pair.startsWith(`${name}=`)).map((pair) => pair.slice(name.length + 1));
}

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
