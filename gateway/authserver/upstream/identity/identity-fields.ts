import { createHash } from 'node:crypto';
import type { UpstreamIdentity } from '../upstream.ts';
import { valueAt } from '../protocol/dot-path.ts';

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
export function textOf(value: unknown): string | undefined {
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
