import type { Request, Response } from 'express';
import { CONSENT_COOKIE } from './consent-cookie.ts';
import { cookieName, cookieNames, setCookie, type CookieRules } from './cookies.ts';

/** Takes every remembered consent away from this browser. */
export function forgetConsents(req: Request, res: Response, rules: CookieRules): void {
  for (const name of cookieNames(req, cookieName(CONSENT_COOKIE, rules)))
    if (/^[\w-]+$/u.test(name)) setCookie(res, name, '', { ...rules, maxAgeSeconds: 0 });
}
