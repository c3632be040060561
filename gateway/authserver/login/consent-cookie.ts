import type { Request, Response } from 'express';
import { clientKey, consentKey, type Consent } from '../consent/remembering.ts';
import type { AuthServerContext } from '../context.ts';
import { hasTag, tagOf } from '../core/opaque-token.ts';
import { cookieName, cookieNames, cookiesLike, cookiesNamed, setCookie, type CookieRules } from './cookies.ts';

export const REMEMBERED_DAYS = 30;
/** Prefix of the cookies of remembered consents, after `__Host-` on https. */
const CONSENT_COOKIE = 'vmcp-consent-';

const DAY_SECONDS = 86_400;
const NAME_LENGTH = 22;
/** Browsers send all of them with every request, and proxies reject header lines above 8 KiB. */
const MAX_REMEMBERED = 30;
/** Cookies that one response removes: each takes a header line. */
const MAX_DROPPED = 10;

const nameOf = (key: string, { settings }: AuthServerContext): string =>
  cookieName(`${CONSENT_COOKIE}${key.slice(0, NAME_LENGTH)}`, settings);

const text = (key: string, expiresAt: string): string => `${key} ${expiresAt}`;
const clientText = (key: string, expiresAt: string): string => `client ${key} ${expiresAt}`;
const VALUE = /^(\d{1,12})\.([\w-]+)(?:\.([\w-]+))?$/u;

/**
 * Stores the user's consent in a cookie: `<expiry in s since the epoch>.<tag of the consent>.<tag of the client>`. Each tag
 * covers the expiry.
 */
export function rememberConsent(req: Request, res: Response, consent: Consent, context: AuthServerContext): void {
  const { now, secrets, settings } = context;
  const key = consentKey(consent);
  makeRoom(req, res, nameOf(key, context), context);
  const maxAgeSeconds = REMEMBERED_DAYS * DAY_SECONDS;
  const expiresAt = String(Math.floor(now() / 1_000) + maxAgeSeconds);
  const tags = [text(key, expiresAt), clientText(clientKey(consent), expiresAt)];
  const value = [expiresAt, ...tags.map((tagged) => tagOf('consent', tagged, secrets()))].join('.');
  setCookie(res, nameOf(key, context), value, { ...settings, maxAgeSeconds });
}

export function isConsentRemembered(req: Request, consent: Consent, context: AuthServerContext): boolean {
  const key = consentKey(consent);
  return cookiesNamed(req, nameOf(key, context)).some((value) => {
    const [, expiresAt = '', tag = ''] = VALUE.exec(value) ?? [];
    return hasTag('consent', text(key, expiresAt), tag, context.secrets()) && isInFuture(expiresAt, context);
  });
}

/** Returns true if the user of this browser has consented before to any request of this client at this redirect host. */
export function isClientKnown(
  req: Request,
  client: Pick<Consent, 'clientId' | 'redirectUri'>,
  context: AuthServerContext,
): boolean {
  const key = clientKey(client);
  return cookiesLike(req, cookieName(CONSENT_COOKIE, context.settings)).some(([, value]) => {
    const [, expiresAt = '', , tag = ''] = VALUE.exec(value) ?? [];
    return hasTag('consent', clientText(key, expiresAt), tag, context.secrets()) && isInFuture(expiresAt, context);
  });
}

const isInFuture = (expiresAt: string, { now }: AuthServerContext): boolean => Number(expiresAt) * 1_000 > now();

/** Removes the oldest cookies beyond the limit, including those of other servers on this host. */
function makeRoom(req: Request, res: Response, kept: string, { settings }: AuthServerContext): void {
  const others = cookiesLike(req, cookieName(CONSENT_COOKIE, settings))
    .filter(([name]) => name !== kept && /^[\w-]+$/u.test(name))
    .toSorted(([, one], [, other]) => expiryOf(one) - expiryOf(other));
  const surplus = Math.max(0, others.length + 1 - MAX_REMEMBERED);
  for (const [name] of others.slice(0, Math.min(surplus, MAX_DROPPED)))
    setCookie(res, name, '', { ...settings, maxAgeSeconds: 0 });
}

const expiryOf = (value: string): number => Number(/^\d{1,12}/u.exec(value)?.[0] ?? 0);

/** Removes every remembered consent from this browser. */
export function forgetConsents(req: Request, res: Response, rules: CookieRules): void {
  for (const name of cookieNames(req, cookieName(CONSENT_COOKIE, rules)))
    if (/^[\w-]+$/u.test(name)) setCookie(res, name, '', { ...rules, maxAgeSeconds: 0 });
}
