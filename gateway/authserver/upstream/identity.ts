import { createHash } from 'node:crypto';
import type { UpstreamIdentity } from './upstream.ts';
import { parseExactJson, valueAt } from './protocol/token-reply.ts';
import type { Outbound } from '../../outbound/fetch.ts';
import { toUpstreamError, UpstreamError } from './upstream-error.ts';
import type { UserInfoConfig } from '../../contract/run-config/upstreams.ts';
import { isObject } from '../../contract/json.ts';

/** Paths of the identity in a document. Of several, the first one with a text or a number is used. */
export interface IdentityFields {
  readonly subject: readonly string[];
  readonly name: readonly string[];
  readonly email: readonly string[];
}

/** Standard claims of OpenID Connect Core §5.1. */
export const STANDARD_FIELDS: IdentityFields = { subject: ['sub'], name: ['name'], email: ['email'] };

/** Longest subject (OpenID Connect Core §2). */
const MAX_SUBJECT = 255;
const MAX_NAME = 256;
const MAX_EMAIL = 320;
// oxlint-disable-next-line no-control-regex -- the pattern rejects control characters
const CONTROL = /[\u0000-\u001F\u007F-\u009F\u2028\u2029]/u;

/**
 * Returns a text unchanged, and a whole number as decimal digits (GitHub's ids). Returns undefined for all other values,
 * and for numbers beyond 2^53, which are not exact: `parseExactJson` has converted the exact ones to texts.
 */
function textOf(value: unknown): string | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? value.toString(10) : undefined;
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function firstText(document: unknown, fields: readonly string[], maxLength: number): string | undefined {
  for (const field of fields) {
    const text = textOf(ownMember(document, field) ?? valueAt(document, field));
    if (text !== undefined) return text.length <= maxLength && !CONTROL.test(text) ? text : undefined;
  }
  return undefined;
}

/** Returns an own member, whose name may contain dots, such as Auth0's `https://example.com/id`. */
const ownMember = (document: unknown, field: string): unknown =>
  typeof document === 'object' && document !== null && field !== '__proto__' && Object.hasOwn(document, field)
    ? (document as Readonly<Record<string, unknown>>)[field]
    : undefined;

export const subjectIn = (document: unknown, fields: IdentityFields): string | undefined =>
  firstText(document, fields.subject, MAX_SUBJECT);

/** Returns name and e-mail address without values that are too long or contain control characters. */
export const profileIn = (document: unknown, fields: IdentityFields): Pick<UpstreamIdentity, 'name' | 'email'> => ({
  name: firstText(document, fields.name, MAX_NAME),
  email: firstText(document, fields.email, MAX_EMAIL),
});

/** Returns a synthetic subject for a provider that does not identify users. */
export function syntheticIdentity(accessToken: string): UpstreamIdentity {
  const digest = createHash('sha256').update(accessToken).digest();
  return { subject: `tk-${digest.subarray(0, 16).toString('hex')}`, synthetic: true, claims: {} };
}

const MAX_REPLY_BYTES = 1024 * 1024;
const WHAT = 'the userinfo request';

interface UserInfoRequest {
  readonly url: string;
  readonly accessToken: string;
  readonly config: UserInfoConfig;
  readonly outbound: Outbound;
  readonly timeoutMs: number;
}

type Document = Readonly<Record<string, unknown>>;

export const identityFields = ({ field_mapping: mapping }: UserInfoConfig): IdentityFields => ({
  subject: mapping?.subject_fields ?? STANDARD_FIELDS.subject,
  name: mapping?.name_fields ?? STANDARD_FIELDS.name,
  email: mapping?.email_fields ?? STANDARD_FIELDS.email,
});

/** Fetches the userinfo document for an access token. Rejects with `UpstreamError`. */
export async function fetchUserInfo({
  url,
  accessToken,
  config,
  outbound,
  timeoutMs,
}: UserInfoRequest): Promise<Document> {
  const method = config.http_method === 'POST' ? 'POST' : 'GET';
  const headers = {
    accept: 'application/json',
    'user-agent': 'vmcp', // GitHub requires one
    ...lowerCase(config.additional_headers ?? {}),
    authorization: `Bearer ${accessToken}`,
    ...(method === 'POST' && { 'content-type': 'application/x-www-form-urlencoded' }),
  };
  const body = method === 'POST' ? '' : undefined;
  try {
    const reply = await outbound.request({ url, method, headers, body, maxBytes: MAX_REPLY_BYTES, timeoutMs });
    return objectIn(reply.status, reply.body);
  } catch (error) {
    throw toUpstreamError(error, { what: WHAT, status: undefined });
  }
}

function objectIn(status: number, body: string): Document {
  if (status !== 200) {
    const fault = status >= 500 || status === 429 || status === 408 ? 'unavailable' : 'bad_reply';
    throw new UpstreamError(fault, `${WHAT} failed: the provider answered ${String(status)}`);
  }
  try {
    const document = parseExactJson(body);
    if (isObject(document)) return document;
  } catch {
    // reported below, without the content
  }
  throw new UpstreamError('bad_reply', `${WHAT} failed: the reply is not a JSON object`);
}

const lowerCase = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
