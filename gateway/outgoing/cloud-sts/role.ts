import { createHash } from 'node:crypto';
import type { Identity } from '../../contract/identity.ts';
import { CredentialError } from '../authenticator.ts';
import { DEFAULTS, type CloudStsConfig } from './config.ts';
import { compileMatcher, MatcherTimeoutError, type Matcher } from './matcher.ts';

type Claims = Identity['claims'];

const claimOf = (claims: Claims, name: string): unknown => (Object.hasOwn(claims, name) ? claims[name] : undefined);

/** Role of a user by claims; undefined: the user has no role. Throws `CredentialError` for a matcher that takes too long. */
type RoleOf = (claims: Claims) => string | undefined;

/**
 * Creates a function that returns the role of a user: that of the matching mapping with the lowest priority, or the fallback. Of equal
 * priorities the first applies.
 */
export function createRoleFinder({
  role_claim,
  role_mappings = [],
  fallback_role_arn: fallback,
}: CloudStsConfig): RoleOf {
  const name = role_claim ?? DEFAULTS.roleClaim;
  const mappings = role_mappings
    .map((mapping) => ({
      role: mapping.role_arn,
      priority: mapping.priority ?? Infinity,
      matches: matcherOf(mapping, name),
    }))
    .toSorted((a, b) => (a.priority === b.priority ? 0 : a.priority - b.priority));
  const find: RoleOf = (claims) => mappings.find(({ matches }) => matches(claims))?.role ?? fallback;
  return remembered(find);
}

type Mapping = NonNullable<CloudStsConfig['role_mappings']>[number];

/** @throws Error for an expression that `cloudStsProblems` does not accept */
function matcherOf({ claim, matcher }: Mapping, roleClaim: string): Matcher {
  if (matcher === undefined) return (claims) => [claimOf(claims, roleClaim)].flat().includes(claim);
  const compiled = compileMatcher(matcher);
  if ('fault' in compiled) throw new Error(`matcher ${compiled.fault}`);
  return compiled;
}

/** Calls `find` once for each verified token, which keeps its claims: a matcher may take long. */
function remembered(find: RoleOf): RoleOf {
  const known = new WeakMap<Claims, { readonly role: string | undefined } | { readonly error: CredentialError }>();
  return (claims) => {
    let found = known.get(claims);
    if (!found) known.set(claims, (found = attempt(find, claims)));
    if ('error' in found) throw found.error;
    return found.role;
  };
}

function attempt(find: RoleOf, claims: Claims) {
  try {
    return { role: find(claims) };
  } catch (error) {
    if (!(error instanceof MatcherTimeoutError)) throw error;
    return { error: new CredentialError('misconfigured', `a matcher of role_mappings ${error.message}`) };
  }
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
