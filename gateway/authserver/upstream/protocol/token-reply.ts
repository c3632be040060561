import { errorCode } from '../upstream-error.ts';
import { valueAt } from './dot-path.ts';
import { isObject } from '../../../contract/json.ts';

/** Dot paths into a token reply that is not RFC 6749 §5.1. */
export interface TokenPaths {
  readonly access_token_path?: string | undefined;
  readonly refresh_token_path?: string | undefined;
  readonly expires_in_path?: string | undefined;
  readonly scope_path?: string | undefined;
}

/** How the replies of one token endpoint are read. */
export interface ReplyRules {
  readonly mapping?: TokenPaths | undefined;
  /** OpenID Connect: `id_token` is kept, and `token_type` must be there. */
  readonly openid: boolean;
}

/** A reply as RFC 6749 §5.1 (200) or §5.2 (400) wants it. */
export interface StandardReply {
  readonly status: 200 | 400;
  readonly body: Readonly<Record<string, unknown>>;
}

type Members = Readonly<Record<string, unknown>>;

/** Longer ones are taken for "does not expire", s. */
const MAX_LIFETIME_S = 100 * 365 * 86_400;
/** What a header can carry (RFC 6750 §2.1 is narrower; providers are not). */
const USABLE_TOKEN = /^[\x21-\x7E]{1,16384}$/u;

/**
 * Brings the JSON of a 200 reply into the standard shape. Errors that came with 200 (Slack: `ok: false`; GitHub:
 * `error`) become 400. Members that nobody asks for are dropped. Undefined: no JSON object.
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
    expires_in: secondsOf(at(mapping?.expires_in_path, 'expires_in')),
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

/** Where a mapping says what the reply looks like, its `token_type` is not asked: Slack writes `bot`. */
function tokenTypeOf(value: unknown, { mapping, openid }: ReplyRules): unknown {
  if (mapping) return 'Bearer';
  return value === undefined && !openid ? 'Bearer' : value;
}

/** A positive number, or, as some servers write it, a text of digits. */
export function secondsOf(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^\d{1,15}$/u.test(value) ? Number(value) : value;
  return typeof number === 'number' && number > 0 && number <= MAX_LIFETIME_S ? number : undefined;
}

/** Some servers write a list. */
function scopeOf(value: unknown): string | undefined {
  if (Array.isArray(value)) return value.filter((one) => typeof one === 'string').join(' ') || undefined;
  return textOf(value);
}

/** RFC 6749 §5.2 of a reply that says so with 200. */
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

/** `error: 0`, `error: ""`, `error: null` and `error: false` say that all is well. */
const isError = (error: unknown): boolean => ![undefined, null, false, 0, ''].includes(error as never);
