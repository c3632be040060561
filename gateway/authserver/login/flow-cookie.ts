import { timingSafeEqual } from 'node:crypto';
import type { Request, Response } from 'express';
import type { AuthServerContext } from '../context.ts';
import { FIXED_LIFESPANS } from '../core/lifespans.ts';
import { hasTag, isGenuine, issueToken, RANDOM_BYTES, storageKeyOf, tagOf } from '../core/opaque-token.ts';
import type { LoginAttempt } from '../storage/records.ts';
import { cookieName, cookiesLike, cookiesNamed, setCookie, type CookieRules } from './cookies.ts';

const NAME = 'vmcp-flow-';
const NAME_LENGTH = 16;
/** Between the cookie itself and the login attempt that it carries. */
const MARK = '~';
/** Login attempts of one browser at once. */
const MAX_FLOWS = 16;
/** All values together: a browser sends them with every request, and proxies refuse header lines above 8 KiB. */
const MAX_BYTES = 4_096;
/** A browser keeps no cookie above 4 KiB, name and attributes included. */
const MAX_SEALED = 3_600;
/** Each is a line of the answer's header. */
const MAX_DROPPED = 32;

/** A login attempt has a cookie of its own, so that sign-ins in two tabs, or at two servers of one host, do not meet. */
const nameOf = (cookieHash: string, rules: CookieRules): string =>
  cookieName(`${NAME}${cookieHash.slice(0, NAME_LENGTH)}`, rules);

export interface FlowCookie {
  readonly value: string;
  /** What the login attempt keeps of it. */
  readonly hash: string;
}

/** A new cookie, set in this browser. */
export function issueFlowCookie(req: Request, res: Response, context: AuthServerContext): FlowCookie {
  const value = issueToken('cookie', context.random(RANDOM_BYTES), context.secrets()).reveal();
  const cookie = { value, hash: storageKeyOf(value) };
  setFlowCookie(req, res, cookie, value, context);
  return cookie;
}

/** Lets the browser keep a sealed login attempt beside its cookie. False: it is too long for a cookie. */
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

/** Sealed login attempts that this browser keeps, each with the hash of its cookie. */
export const carriedInCookies = (
  req: Request,
  context: AuthServerContext,
): readonly { readonly hash: string; readonly sealed: string }[] =>
  flowCookies(req, context).flatMap(({ hash, sealed }) => (sealed === undefined ? [] : [{ hash, sealed }]));

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

/** Removes the oldest where there are too many: browsers send the oldest first. @see RFC 6265 §5.4 */
function makeRoom(req: Request, res: Response, kept: string, value: string, rules: CookieRules): void {
  const others = cookiesLike(req, cookieName(NAME, rules)).filter(([name]) => name !== kept && /^[\w-]+$/u.test(name));
  let count = others.length + 1;
  let bytes = others.reduce((sum, [, other]) => sum + other.length, value.length);
  for (const [name, other] of others.slice(0, MAX_DROPPED)) {
    if (count <= MAX_FLOWS && bytes <= MAX_BYTES) return;
    setCookie(res, name, '', { ...rules, maxAgeSeconds: 0 });
    count -= 1;
    bytes -= other.length;
  }
}

/** The cookie of this login attempt; undefined when the browser has not got it. */
export function flowCookieOf(
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

/** Of all login attempts that are under way in this browser. */
export const flowCookieHashes = (req: Request, context: AuthServerContext): readonly string[] =>
  flowCookies(req, context).map(({ hash }) => hash);

function splitValue(text: string): { readonly value: string; readonly sealed?: string } {
  const [value = '', sealed] = text.split(MARK, 2);
  return sealed === undefined ? { value } : { value, sealed };
}

const flowCookies = (
  req: Request,
  { secrets, settings }: AuthServerContext,
): readonly { readonly hash: string; readonly sealed?: string }[] =>
  cookiesLike(req, cookieName(NAME, settings))
    .map(([name, text]) => ({ name, ...splitValue(text) }))
    .filter(({ value }) => isGenuine('cookie', value, secrets()))
    .map(({ value, ...others }) => ({ ...others, hash: storageKeyOf(value) }))
    .filter(({ name, hash }) => name === nameOf(hash, settings));

const isSame = (one: Buffer, other: Buffer): boolean => one.length === other.length && timingSafeEqual(one, other);

/** The login attempt is over. */
export function clearFlowCookie(res: Response, cookieHash: string, { settings }: AuthServerContext): void {
  setCookie(res, nameOf(cookieHash, settings), '', { ...settings, maxAgeSeconds: 0 });
}

const csrfText = (handle: string, cookie: FlowCookie): string => `${handle} ${cookie.value}`;

/** Shown on the consent page of this login attempt in this browser. */
export const csrfToken = (handle: string, cookie: FlowCookie, { secrets }: AuthServerContext): string =>
  tagOf('csrf', csrfText(handle, cookie), secrets());

export const isCsrfToken = (
  token: string,
  handle: string,
  cookie: FlowCookie,
  { secrets }: AuthServerContext,
): boolean => hasTag('csrf', csrfText(handle, cookie), token, secrets());
