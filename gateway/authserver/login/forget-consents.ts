import type { Request, Response } from 'express';
import { CONSENT_COOKIE } from './consent-cookie.ts';
import { cookieName, setCookie, type CookieRules } from './cookies.ts';

/** Takes every remembered consent away from this browser. */
export function forgetConsents(req: Request, res: Response, rules: CookieRules): void {
  const prefix = cookieName(CONSENT_COOKIE, rules);
  const names = (req.headers.cookie ?? '').split(';').map((pair) => pair.trim().replace(/=.*$/su, ''));
  for (const name of new Set(names.filter((one) => one.startsWith(prefix) && /^[\w-]+$/u.test(one))))
    setCookie(res, name, '', { ...rules, maxAgeSeconds: 0 });
}
