import { timingSafeEqual } from 'node:crypto';
import type { Request, Response } from 'express';
import type { AuthServerContext } from '../context.ts';
import { FIXED_LIFESPANS } from '../core/lifespans.ts';
import { hasTag, isGenuine, issueToken, RANDOM_BYTES, storageKeyOf, tagOf } from '../core/opaque-token.ts';
import type { LoginAttempt } from '../storage/records.ts';
import { cookieName, cookiesLike, cookiesNamed, setCookie, type CookieRules } from './cookies.ts';

const NAME = 'vmcp-flow-';
const NAME_LENGTH = 16;
/** Separator between the cookie's own value and the sealed login attempt. */
const MARK = '~';
/** Login attempts that one browser may have at once. */
const MAX_FLOWS = 16;
/**
 * Limit for all cookies together: browsers send them with every request, beside up to 30 remembered consents of 143 bytes, and
 * proxies reject header lines above 8 KiB.
 */
const MAX_BYTES = 3_800;
/** Browsers drop cookies above 4 KiB, including name and attributes. */
const MAX_SEALED = 3_600;
/** Cookies that one response removes: each takes a header line. */
const MAX_DROPPED = 32;

/** Names the cookie of one login attempt, so that attempts in two tabs or at two servers of one host stay separate. */
const nameOf = (cookieHash: string, rules: CookieRules): string =>
  cookieName(`${NAME}${cookieHash.slice(0, NAME_LENGTH)}`, rules);

export interface FlowCookie {
  readonly value: string;
  /** Stored with the login attempt in place of the value. */
  readonly hash: string;
}

/** Sets a new cookie in this browser. */
export function issueFlowCookie(req: Request, res: Response, context: AuthServerContext): FlowCookie {
  const value = issueToken('cookie', context.random(RANDOM_BYTES), context.secrets()).reveal();
  const cookie = { value, hash: storageKeyOf(value) };
  setFlowCookie(req, res, cookie, value, context);
  return cookie;
}

/** Stores a sealed login attempt in its cookie. Returns false if it is too long for a cookie. */
export function carryInCookie(
  req: Request,
  res: Response,
  cookie: FlowCookie,
  sealed: string,
  context: AuthServerContext,
): boolean {
  if (sealed.length > MAX_SEALED) return false;
  setFlowCookie(req, res, cookie, `${cookie.value}${MARK}${sealed}`, context);
  return true;
}

function setFlowCookie(
  req: Request,
  res: Response,
  { hash }: FlowCookie,
  value: string,
  { settings }: AuthServerContext,
): void {
  const name = nameOf(hash, settings);
  makeRoom(req, res, name, value, settings);
  setCookie(res, name, value, { ...settings, maxAgeSeconds: FIXED_LIFESPANS.loginAttempt });
}

/** Removes the oldest cookies beyond the limits. Browsers send the oldest first. @see RFC 6265 §5.4 */
function makeRoom(req: Request, res: Response, kept: string, value: string, rules: CookieRules): void {
  const others = cookiesLike(req, cookieName(NAME, rules)).filter(([name]) => name !== kept && /^[\w-]+$/u.test(name));
  let count = others.length + 1;
  let bytes = others.reduce((sum, [name, other]) => sum + bytesOf(name, other), bytesOf(kept, value));
  for (const [name, other] of others.slice(0, MAX_DROPPED)) {
    if (count <= MAX_FLOWS && bytes <= MAX_BYTES) return;
    setCookie(res, name, '', { ...rules, maxAgeSeconds: 0 });
    count -= 1;
    bytes -= bytesOf(name, other);
  }
}

/** Returns the length of a cookie in the header, with its separators. */
const bytesOf = (name: string, value: string): number => name.length + value.length + '=; '.length;

/** Returns the cookie of this login attempt, or undefined if the browser does not have it. */
export function findFlowCookie(
  req: Request,
  { cookieHash }: Pick<LoginAttempt, 'cookieHash'>,
  { secrets, settings }: AuthServerContext,
): FlowCookie | undefined {
  if (cookieHash === undefined) return undefined;
  const expected = Buffer.from(cookieHash);
  const value = cookiesNamed(req, nameOf(cookieHash, settings))
    .map((text) => splitValue(text).value)
    .filter((candidate) => isGenuine('cookie', candidate, secrets()))
    .find((candidate) => isSame(Buffer.from(storageKeyOf(candidate)), expected));
  return value === undefined ? undefined : { value, hash: cookieHash };
}

function splitValue(text: string): { readonly value: string; readonly sealed?: string } {
  const [value = '', sealed] = text.split(MARK, 2);
  return sealed === undefined ? { value } : { value, sealed };
}

/** Returns the cookies of all login attempts of this browser. */
export const flowCookies = (
  req: Request,
  { secrets, settings }: AuthServerContext,
): readonly (FlowCookie & { readonly sealed?: string })[] =>
  cookiesLike(req, cookieName(NAME, settings))
    .map(([name, text]) => ({ name, ...splitValue(text) }))
    .filter(({ value }) => isGenuine('cookie', value, secrets()))
    .map((cookie) => ({ ...cookie, hash: storageKeyOf(cookie.value) }))
    .filter(({ name, hash }) => name === nameOf(hash, settings));

const isSame = (one: Buffer, other: Buffer): boolean => one.length === other.length && timingSafeEqual(one, other);

/** Removes the cookie of a login attempt that has ended. */
export function clearFlowCookie(res: Response, cookieHash: string, { settings }: AuthServerContext): void {
  setCookie(res, nameOf(cookieHash, settings), '', { ...settings, maxAgeSeconds: 0 });
}

const csrfText = (handle: string, cookie: FlowCookie): string => `${handle} ${cookie.value}`;

/** Returns the CSRF token for the consent page of this login attempt in this browser. */
export const csrfToken = (handle: string, cookie: FlowCookie, { secrets }: AuthServerContext): string =>
  tagOf('csrf', csrfText(handle, cookie), secrets());

export const isCsrfToken = (
  token: string,
  handle: string,
  cookie: FlowCookie,
  { secrets }: AuthServerContext,
): boolean => hasTag('csrf', csrfText(handle, cookie), token, secrets());
