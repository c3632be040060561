import type { Request, Response } from 'express';
import { hasTooMany, tooMany } from '../../http/endpoint/body-text.ts';
import type { AuthServerSettings } from '../settings.ts';

/** Settings that name and scope the cookies of the consent origin. */
export type CookieRules = Pick<AuthServerSettings, 'consentUrl'>;

const isSecure = ({ consentUrl }: CookieRules): boolean => consentUrl.startsWith('https:');

/** Adds `__Host-` on https: browsers then reject the cookie from other hosts and plain connections. @see RFC 6265bis §4.1.3.2 */
export const cookieName = (name: string, rules: CookieRules): string => (isSecure(rules) ? `__Host-${name}` : name);

/**
 * Returns the cookies with this name prefix as `[name, value]`. A browser may send several of one name. Throws `RequestError` for
 * more cookies than any browser keeps.
 */
export function cookiesLike(req: Request, prefix: string): readonly (readonly [string, string])[] {
  const { cookie = '' } = req.headers;
  if (hasTooMany(cookie, ';')) throw tooMany('the Cookie header', 'cookies');
  return cookie
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(prefix))
    .map((pair) => {
      const end = pair.includes('=') ? pair.indexOf('=') : pair.length;
      return [pair.slice(0, end), pair.slice(end + 1)];
    });
}

/** Returns every value of this cookie name. */
export const cookiesNamed = (req: Request, name: string): readonly string[] =>
  cookiesLike(req, `${name}=`).map(([, value]) => value);

/** Returns the cookie names with this prefix. */
export const cookieNames = (req: Request, prefix: string): ReadonlySet<string> =>
  new Set(cookiesLike(req, prefix).map(([name]) => name));

/** Sets a cookie, or removes it with `maxAgeSeconds` 0. Values are base64url with dots, which need no quotes. */
export function setCookie(
  res: Response,
  name: string,
  value: string,
  { maxAgeSeconds, ...rules }: CookieRules & { readonly maxAgeSeconds: number },
): void {
  const flags = `Path=/; Max-Age=${String(maxAgeSeconds)}; HttpOnly; SameSite=Lax${isSecure(rules) ? '; Secure' : ''}`;
  res.append('Set-Cookie', `${name}=${value}; ${flags}`);
}
