import { errorCode } from '../../../contract/text/provider-text.ts';
import { isObject } from '../../../contract/json.ts';

/** Dot paths into a token reply that is not RFC 6749 §5.1. */
interface TokenPaths {
  readonly access_token_path?: string | undefined;
  readonly refresh_token_path?: string | undefined;
  readonly expires_in_path?: string | undefined;
  readonly scope_path?: string | undefined;
}

/** Rules for reading the replies of one token endpoint. */
export interface ReplyRules {
  readonly mapping?: TokenPaths | undefined;
  /** OpenID Connect: keep `id_token`, and require `token_type`. */
  readonly openid: boolean;
}

/** Reply in the form of RFC 6749 §5.1 (200) or §5.2 (400). */
interface StandardReply {
  readonly status: 200 | 400;
  readonly body: Readonly<Record<string, unknown>>;
}

type Members = Readonly<Record<string, unknown>>;

/** Lifetimes beyond this mean that the token does not expire, s. */
const MAX_LIFETIME_S = 100 * 365 * 86_400;
/** Tokens that a header can carry. RFC 6750 §2.1 allows fewer characters, but providers use more. */
const USABLE_TOKEN = /^[\x21-\x7E]{1,16384}$/u;

/**
 * Converts the JSON of a 200 reply to the standard form. Errors with status 200 (Slack: `ok: false`; GitHub: `error`)
 * become 400. Drops unused members. Returns undefined when the document is not a JSON object.
 */
export function standardReply(document: unknown, { mapping, openid }: ReplyRules): StandardReply | undefined {
  if (!isObject(document)) return undefined;
  const members = document;
  const refusal = refusalIn(members);
  if (refusal) return { status: 400, body: refusal };
  const at = (path: string | undefined, standard: string): unknown => valueAt(members, path ?? standard);
  const body = {
    access_token: tokenOf(at(mapping?.access_token_path, 'access_token')),
    token_type: tokenTypeOf(own(members, 'token_type'), { mapping, openid }),
    refresh_token: textOf(at(mapping?.refresh_token_path, 'refresh_token')),
    expires_in: parseSeconds(at(mapping?.expires_in_path, 'expires_in')),
    scope: scopeOf(at(mapping?.scope_path, 'scope')),
    ...(openid && { id_token: own(members, 'id_token') ?? undefined }),
  };
  return { status: 200, body };
}

const own = (members: Members, name: string): unknown => (Object.hasOwn(members, name) ? members[name] : undefined);

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' && value.length <= 16_384 ? value : undefined;

const tokenOf = (value: unknown): string | undefined =>
  typeof value === 'string' && USABLE_TOKEN.test(value) ? value : undefined;

/** Returns `token_type`. With a mapping it is ignored, because Slack sends `bot`. */
function tokenTypeOf(value: unknown, { mapping, openid }: ReplyRules): unknown {
  if (mapping) return 'Bearer';
  return value === undefined && !openid ? 'Bearer' : value;
}

/** Returns a positive number. Some servers send it as a text of digits. */
export function parseSeconds(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^\d{1,15}$/u.test(value) ? Number(value) : value;
  return typeof number === 'number' && number > 0 && number <= MAX_LIFETIME_S ? number : undefined;
}

/** Returns the scopes as text. Some servers send a list. */
function scopeOf(value: unknown): string | undefined {
  if (Array.isArray(value)) return value.filter((one) => typeof one === 'string').join(' ') || undefined;
  return textOf(value);
}

/** Returns the error of RFC 6749 §5.2 in a reply with status 200. */
function refusalIn(members: Members): Members | undefined {
  const error = own(members, 'error');
  const failed = own(members, 'ok') === false || own(members, 'success') === false;
  if (!failed && !isError(error)) return undefined;
  const description = own(members, 'error_description');
  return {
    error: errorCode(error) ?? 'unknown_error',
    ...(typeof description === 'string' && { error_description: description }),
  };
}

/** Returns false for `error: 0`, `error: ""`, `error: null` and `error: false`, which mean success. */
const isError = (error: unknown): boolean => ![undefined, null, false, 0, ''].includes(error as never);

const MAX_LENGTH = 256;
const MAX_DEPTH = 16;
const FORBIDDEN: ReadonlySet<string> = new Set(['__proto__', 'prototype', 'constructor']);
const ARRAY_INDEX = /^(?:0|[1-9]\d{0,4})$/u;

/** Returns the fault of a dot path; undefined for a valid path such as `authed_user.access_token` or `users.0.id`. */
export function dotPathFault(path: string): string | undefined {
  if (path.length > MAX_LENGTH) return `is longer than ${String(MAX_LENGTH)} characters`;
  const parts = path.split('.');
  if (parts.length > MAX_DEPTH) return `has more than ${String(MAX_DEPTH)} parts`;
  if (parts.includes('')) return 'has an empty part: write NAME.NAME';
  const forbidden = parts.find((part) => FORBIDDEN.has(part));
  return forbidden === undefined ? undefined : `goes through "${forbidden}", which no reply has as a member`;
}

/** Returns the value at a dot path. Reads only own members of objects and indexes of lists. */
export function valueAt(document: unknown, path: string): unknown {
  if (dotPathFault(path) !== undefined) return undefined;
  return path.split('.').reduce<unknown>(memberOf, document);
}

function memberOf(holder: unknown, part: string): unknown {
  if (typeof holder !== 'object' || holder === null) return undefined;
  if (Array.isArray(holder) && !ARRAY_INDEX.test(part)) return undefined;
  return Object.hasOwn(holder, part) ? (holder as Readonly<Record<string, unknown>>)[part] : undefined;
}

/** Digits of a number that may be beyond 2^53, where different numbers parse to the same value. */
const MANY_DIGITS = /\d{16}/u;
const WHOLE_NUMBER = /^-?\d+$/u;

/**
 * Parses JSON of a provider. Whole numbers beyond 2^53 become texts of their digits, so that different user ids stay
 * different. Throws `SyntaxError`.
 */
export const parseExactJson = (text: string): unknown =>
  JSON.parse(text, MANY_DIGITS.test(text) ? (exactValue as (key: string, value: unknown) => unknown) : undefined);

/** Converts one value. `source` is its text in the document, absent for objects and lists. */
function exactValue(_key: string, value: unknown, { source = '' }: { readonly source?: string }): unknown {
  return typeof value === 'number' && !Number.isSafeInteger(value) && WHOLE_NUMBER.test(source) ? source : value;
}
