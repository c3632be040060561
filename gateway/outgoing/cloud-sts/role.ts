import { createHash } from 'node:crypto';
import type { Identity } from '../../contract/identity.ts';
import { DEFAULTS, type CloudStsConfig } from './config.ts';

type Claims = Identity['claims'];

const claimOf = (claims: Claims, name: string): unknown => (Object.hasOwn(claims, name) ? claims[name] : undefined);

/**
 * Returns the role of a user: that of the matching mapping with the lowest priority, or the fallback. Of equal
 * priorities the first applies. Undefined: the user has no role.
 */
export function roleOf(claims: Claims, settings: CloudStsConfig): string | undefined {
  const { role_claim = DEFAULTS.roleClaim, role_mappings: mappings = [], fallback_role_arn: fallback } = settings;
  const value = claimOf(claims, role_claim);
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  let best: { readonly role: string; readonly priority: number } | undefined;
  for (const { claim, role_arn: role, priority = Infinity } of mappings) {
    if (claim === undefined || !values.includes(claim)) continue;
    if (best === undefined || priority < best.priority) best = { role, priority };
  }
  return best?.role ?? fallback;
}

/** Limits of `RoleSessionName`, AWS Security Token Service API Reference. */
const MAX_NAME = 64;
const MIN_NAME = 2;
const FORBIDDEN = /[^A-Za-z0-9_+=,.@-]/gu;
const DIGEST_LENGTH = 12;

/**
 * Returns the session name of a user, which appears in the audit log of AWS; undefined without the claim. A value that
 * AWS does not allow is changed and gets a digest of itself, so that two users never share a name.
 */
export function sessionNameOf(claims: Claims, { session_name_claim }: CloudStsConfig): string | undefined {
  const value = claimOf(claims, session_name_claim ?? DEFAULTS.sessionNameClaim);
  if (typeof value !== 'string' || value === '') return undefined;
  const allowed = value.replaceAll(FORBIDDEN, '-');
  if (allowed === value && value.length >= MIN_NAME && value.length <= MAX_NAME) return value;
  const digest = createHash('sha256').update(value).digest('hex').slice(0, DIGEST_LENGTH);
  return `${allowed.slice(0, MAX_NAME - DIGEST_LENGTH - 1)}-${digest}`;
}
