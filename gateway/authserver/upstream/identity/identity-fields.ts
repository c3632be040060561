import { createHash } from 'node:crypto';
import type { UpstreamIdentity } from '../upstream.ts';
import { valueAt } from '../protocol/dot-path.ts';

/** Where the identity stands in a document; the first member that holds a text or a number counts. */
export interface IdentityFields {
  readonly subject: readonly string[];
  readonly name: readonly string[];
  readonly email: readonly string[];
}

/** The claims of OpenID Connect Core §5.1. */
export const STANDARD_FIELDS: IdentityFields = { subject: ['sub'], name: ['name'], email: ['email'] };

/** OpenID Connect Core §2. */
const MAX_SUBJECT = 255;
const MAX_NAME = 256;
const MAX_EMAIL = 320;
// eslint-disable-next-line no-control-regex -- what it is about
const CONTROL = /[\u0000-\u001F\u007F-\u009F\u2028\u2029]/u;

/**
 * Returns a text as it is, a whole number in decimal digits (GitHub's ids). Undefined for all else, and for numbers
 * beyond 2^53: `parseExactJson` has made texts of those that it read exactly.
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

/** Names of claims may hold dots themselves, as those of Auth0 do: `https://example.com/id`. */
const ownMember = (document: unknown, field: string): unknown =>
  typeof document === 'object' && document !== null && field !== '__proto__' && Object.hasOwn(document, field)
    ? (document as Readonly<Record<string, unknown>>)[field]
    : undefined;

export const subjectIn = (document: unknown, fields: IdentityFields): string | undefined =>
  firstText(document, fields.subject, MAX_SUBJECT);

/** Name and e-mail address; what is too long or holds control characters counts as absent. */
export const profileIn = (document: unknown, fields: IdentityFields): Pick<UpstreamIdentity, 'name' | 'email'> => ({
  name: firstText(document, fields.name, MAX_NAME),
  email: firstText(document, fields.email, MAX_EMAIL),
});

/** A subject for a provider that names nobody. */
export function syntheticIdentity(accessToken: string): UpstreamIdentity {
  const digest = createHash('sha256').update(accessToken).digest();
  return { subject: `tk-${digest.subarray(0, 16).toString('hex')}`, synthetic: true, claims: {} };
}
