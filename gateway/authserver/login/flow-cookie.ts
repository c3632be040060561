import { timingSafeEqual } from 'node:crypto';
import type { Request, Response } from 'express';
import type { AuthServerContext } from '../context.ts';
import { FIXED_LIFESPANS } from '../core/lifespans.ts';
import { hasTag, isGenuine, issueToken, RANDOM_BYTES, storageKeyOf, tagOf } from '../core/opaque-token.ts';
import type { Transaction } from '../storage/records.ts';
import { cookieName, cookiesLike, cookiesNamed, setCookie, type CookieRules } from './cookies.ts';

const NAME = 'vmcp-flow-';
const NAME_LENGTH = 16;

/** A visit has a cookie of its own, so that sign-ins in two tabs, or at two servers of one host, do not meet. */
const nameOf = (cookieHash: string, rules: CookieRules): string =>
  cookieName(`${NAME}${cookieHash.slice(0, NAME_LENGTH)}`, rules);

export interface FlowCookie {
  readonly value: string;
  /** What the visit keeps of it. */
  readonly hash: string;
}

/** A new cookie, set in this browser. */
export function giveFlowCookie(res: Response, { secrets, random, settings }: AuthServerContext): FlowCookie {
  const value = issueToken('cookie', random(RANDOM_BYTES), secrets()).reveal();
  const hash = storageKeyOf(value);
  setCookie(res, nameOf(hash, settings), value, { ...settings, maxAgeSeconds: FIXED_LIFESPANS.transaction });
  return { value, hash };
}

/** The cookie of this visit; undefined when the browser has not got it. */
export function flowCookieOf(
  req: Request,
  { cookieHash }: Pick<Transaction, 'cookieHash'>,
  { secrets, settings }: AuthServerContext,
): FlowCookie | undefined {
  if (cookieHash === undefined) return undefined;
  const expected = Buffer.from(cookieHash);
  const value = cookiesNamed(req, nameOf(cookieHash, settings))
    .filter((candidate) => isGenuine('cookie', candidate, secrets()))
    .find((candidate) => isSame(Buffer.from(storageKeyOf(candidate)), expected));
  return value === undefined ? undefined : { value, hash: cookieHash };
}

/** Of all visits that are under way in this browser. */
export const flowCookieHashes = (req: Request, { secrets, settings }: AuthServerContext): readonly string[] =>
  cookiesLike(req, cookieName(NAME, settings))
    .filter(([, value]) => isGenuine('cookie', value, secrets()))
    .map(([name, value]) => ({ name, hash: storageKeyOf(value) }))
    .filter(({ name, hash }) => name === nameOf(hash, settings))
    .map(({ hash }) => hash);

const isSame = (one: Buffer, other: Buffer): boolean => one.length === other.length && timingSafeEqual(one, other);

/** The visit is over. */
export function clearFlowCookie(res: Response, cookieHash: string, { settings }: AuthServerContext): void {
  setCookie(res, nameOf(cookieHash, settings), '', { ...settings, maxAgeSeconds: 0 });
}

const csrfText = (handle: string, cookie: FlowCookie): string => `${handle} ${cookie.value}`;

/** Shown on the consent page of this visit in this browser. */
export const csrfToken = (handle: string, cookie: FlowCookie, { secrets }: AuthServerContext): string =>
  tagOf('csrf', csrfText(handle, cookie), secrets());

export const isCsrfToken = (
  token: string,
  handle: string,
  cookie: FlowCookie,
  { secrets }: AuthServerContext,
): boolean => hasTag('csrf', csrfText(handle, cookie), token, secrets());
