import type { Request, Response } from 'express';
import { consentKey, type Consent } from '../consent/remembering.ts';
import type { AuthServerContext } from '../context.ts';
import { hasTag, tagOf } from '../core/opaque-token.ts';
import { cookieName, cookiesNamed, setCookie } from './cookies.ts';

export const REMEMBERED_DAYS = 30;
/** In front of every remembered consent, behind `__Host-` on https. */
export const CONSENT_COOKIE = 'vmcp-consent-';

const DAY_SECONDS = 86_400;
const NAME_LENGTH = 22;

const nameOf = (key: string, { settings }: AuthServerContext): string =>
  cookieName(`${CONSENT_COOKIE}${key.slice(0, NAME_LENGTH)}`, settings);

const text = (key: string, expiresAt: string): string => `${key} ${expiresAt}`;

/** Keeps in this browser that its user has agreed. `<end in s since the epoch>.<tag of what and until when>` */
export function rememberConsent(res: Response, consent: Consent, context: AuthServerContext): void {
  const { now, secrets, settings } = context;
  const key = consentKey(consent);
  const maxAgeSeconds = REMEMBERED_DAYS * DAY_SECONDS;
  const expiresAt = String(Math.floor(now() / 1_000) + maxAgeSeconds);
  const value = `${expiresAt}.${tagOf('consent', text(key, expiresAt), secrets())}`;
  setCookie(res, nameOf(key, context), value, { ...settings, maxAgeSeconds });
}

export function isConsentRemembered(req: Request, consent: Consent, context: AuthServerContext): boolean {
  const key = consentKey(consent);
  return cookiesNamed(req, nameOf(key, context)).some((value) => {
    const [, expiresAt = '', tag = ''] = /^(\d{1,12})\.([\w-]+)$/u.exec(value) ?? [];
    return hasTag('consent', text(key, expiresAt), tag, context.secrets()) && Number(expiresAt) * 1_000 > context.now();
  });
}
