import type { JsonObject } from '../../../contract/json.ts';

/** The supported `client_assertion_type`. @see RFC 7523 §2.2 */
export const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/** Reason why an assertion is rejected, for the log. */
export type AssertionProblem =
  | 'assertion_algorithm'
  | 'assertion_header'
  | 'assertion_client'
  | 'assertion_audience'
  | 'assertion_expired'
  | 'assertion_too_long'
  | 'assertion_not_yet'
  | 'assertion_jti';

interface AssertionRules {
  readonly clientId: string;
  /** Accepted audiences; the assertion must have exactly one of them. */
  readonly audiences: readonly string[];
  readonly algorithms: readonly string[];
  /** ms since the epoch */
  readonly now: number;
}

/** Valid claims of an assertion whose signature is not verified yet. */
interface AssertionClaims {
  readonly jti: string;
  /** Seconds since the epoch. */
  readonly exp: number;
}

type AssertionReading =
  | { readonly ok: true; readonly claims: AssertionClaims }
  | { readonly ok: false; readonly problem: AssertionProblem };

const MAX_LIFETIME_S = 300;
/** Largest accepted clock difference. */
export const ASSERTION_SKEW_S = 30;
const MAX_JTI_LENGTH = 1024;
const MAX_KID_LENGTH = 1024;
/** Accepted values of `typ`. JWTs for other purposes have another one. */
const TYPES: readonly unknown[] = [undefined, 'jwt', 'client-authentication+jwt'];

/** Reads the claims of an assertion and checks them. @see RFC 7523 §3, OpenID Connect Core §9 */
export function readAssertionClaims(header: JsonObject, claims: JsonObject, rules: AssertionRules): AssertionReading {
  const { jti, exp } = claims;
  const problem = headerProblem(header, rules) ?? partyProblem(claims, rules) ?? timeProblem(claims, rules.now / 1_000);
  if (problem !== undefined) return { ok: false, problem };
  if (typeof jti !== 'string' || jti === '' || jti.length > MAX_JTI_LENGTH)
    return { ok: false, problem: 'assertion_jti' };
  return { ok: true, claims: { jti, exp: exp as number } };
}

function headerProblem(
  { alg, typ, crit, kid }: JsonObject,
  { algorithms }: AssertionRules,
): AssertionProblem | undefined {
  if (!algorithms.some((one) => one === alg)) return 'assertion_algorithm';
  const type: unknown = typeof typ === 'string' ? typ.toLowerCase().replace(/^application\//, '') : typ; // RFC 7515 §4.1.9
  if (!TYPES.includes(type) || crit !== undefined) return 'assertion_header';
  return kid === undefined || (typeof kid === 'string' && kid.length <= MAX_KID_LENGTH)
    ? undefined
    : 'assertion_header';
}

function partyProblem(
  { iss, sub, aud }: JsonObject,
  { clientId, audiences }: AssertionRules,
): AssertionProblem | undefined {
  if (iss !== clientId || sub !== clientId) return 'assertion_client';
  // Exactly one audience: an assertion for another server is not valid here.
  const audience: unknown = Array.isArray(aud) && aud.length === 1 ? aud[0] : aud;
  return audiences.some((one) => one === audience) ? undefined : 'assertion_audience';
}

function timeProblem({ exp, nbf, iat }: JsonObject, now: number): AssertionProblem | undefined {
  const soonest = now + ASSERTION_SKEW_S;
  if (!isTime(exp) || exp <= now - ASSERTION_SKEW_S) return 'assertion_expired';
  if (exp > soonest + MAX_LIFETIME_S) return 'assertion_too_long';
  for (const time of [nbf, iat])
    if (time !== undefined && !(isTime(time) && time <= soonest)) return 'assertion_not_yet';
  return undefined;
}

const isTime = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);
