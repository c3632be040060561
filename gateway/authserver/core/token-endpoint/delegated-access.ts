import { LOGIN_CLIENT_CLAIM, SUBJECT_ISSUER_CLAIM } from '../../../contract/identity.ts';
import { accepted, refused, type Checked } from '../refusal.ts';
import { resolveResource } from '../resource.ts';
import { formatScope, parseScope } from '../scope.ts';
import { profileClaims, type Issuance } from './issued-claims.ts';
import { isObject } from '../../../contract/json.ts';

/** Party that acts for the subject, with the earlier actors below `act`. @see RFC 8693 §4.1 */
export interface Actor {
  readonly sub: string;
  /** Issuer of the actor's token. Absent for a client of this server. */
  readonly iss?: string;
  readonly act?: Actor;
}

const MAX_DEPTH = 10;
const MAX_LENGTH = 2_048;

/** Reads an `act` claim. Drops members that do not identify an actor. */
export function readActor(claim: unknown, depth = 1): Checked<Actor | undefined> {
  if (claim === undefined) return accepted(undefined);
  if (depth > MAX_DEPTH) return refused('exchange_depth');
  if (!isObject(claim)) return refused('exchange_subject');
  const { sub, iss } = claim;
  if (!isName(sub) || !(iss === undefined || isName(iss))) return refused('exchange_subject');
  const earlier = readActor(claim['act'], depth + 1);
  if (!earlier.ok) return earlier;
  return accepted({ sub, ...(iss !== undefined && { iss }), ...(earlier.value && { act: earlier.value }) });
}

const isName = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && value.length <= MAX_LENGTH;

/** Puts an actor on top of the earlier ones. */
export function withActor(actor: Actor, earlier: Actor | undefined): Checked<Actor> {
  const chain = { ...actor, ...(earlier && { act: earlier }) };
  return depthOf(chain) > MAX_DEPTH ? refused('exchange_depth') : accepted(chain);
}

const depthOf = ({ act }: Actor): number => (act === undefined ? 1 : 1 + depthOf(act));

/** Returns true if a `may_act` claim is absent or names the actor. A malformed claim names nobody. @see RFC 8693 §4.4 */
export function mayAct(claim: unknown, { sub, iss }: Actor): boolean {
  if (claim === undefined) return true;
  if (!isObject(claim) || claim['sub'] !== sub) return false;
  return claim['iss'] === undefined || claim['iss'] === iss;
}

/** Lifetime of a delegated token, which also ends with the token that it was derived from. */
const LIFESPAN_S = 15 * 60;

/** Limits of an access that one party has. Absent members are no limit. */
export interface AccessBounds {
  readonly audiences?: readonly string[] | undefined;
  readonly scopes?: readonly string[] | undefined;
}

/** Access that an exchange grants. */
interface DelegatedAccess {
  readonly resource: string;
  readonly scopes: readonly string[];
}

const within = (values: readonly string[], limits: readonly (readonly string[] | undefined)[]): string[] =>
  values.filter((value) => limits.every((limit) => limit?.includes(value) ?? true));

/** Determines the access within all bounds: the requested one, or the largest. @see RFC 8693 §2.1 */
export function delegatedAccess(
  requested: { readonly targets: readonly string[]; readonly scope: string | undefined },
  server: { readonly audiences: readonly string[]; readonly scopes: readonly string[] },
  bounds: readonly AccessBounds[],
): Checked<DelegatedAccess> {
  const audiences = within(
    server.audiences,
    bounds.map((bound) => bound.audiences),
  );
  if (audiences.length === 0) return refused('resource_unknown');
  const resource = resolveResource(requested.targets, audiences);
  if (!resource.ok) return resource;
  const wanted = parseScope(requested.scope);
  if (!wanted.ok) return wanted;
  const allowed = within(
    server.scopes,
    bounds.map((bound) => bound.scopes),
  );
  const scopes = wanted.value.length === 0 ? allowed : wanted.value;
  const fits = scopes.length > 0 && scopes.every((scope) => allowed.includes(scope));
  return fits ? accepted({ resource: resource.value, scopes }) : refused('exchange_scope');
}

/** Token that a client obtains for a user without a login of its own. */
export interface DelegatedGrant extends DelegatedAccess {
  readonly clientId: string;
  readonly userId: string;
  readonly name?: string | undefined;
  readonly email?: string | undefined;
  readonly actor?: Actor | undefined;
  /** Trusted issuer of a subject without a login. */
  readonly subjectIssuer?: string | undefined;
  /** Login that the token ends with. */
  readonly login?: { readonly tsid: string; readonly clientId: string } | undefined;
}

/** Returns the claims of a delegated access token. `jti`: 128 random bits. @see RFC 8693 §4, RFC 9068 §2.2 */
export function delegatedClaims(grant: DelegatedGrant, { issuer, now, lifespanSeconds }: Issuance, jti: string) {
  const { clientId, userId, resource, scopes, actor, login, subjectIssuer } = grant;
  const iat = Math.floor(now / 1_000);
  return {
    iss: issuer,
    sub: userId,
    aud: resource,
    exp: iat + lifespanSeconds,
    iat,
    jti,
    client_id: clientId,
    scope: formatScope(scopes),
    ...profileClaims({ scopes, login: grant }),
    ...(actor && { act: actor }),
    ...(subjectIssuer !== undefined && { [SUBJECT_ISSUER_CLAIM]: subjectIssuer }),
    ...(login && { tsid: login.tsid, [LOGIN_CLIENT_CLAIM]: login.clientId }),
  };
}

/** Returns the lifetime in whole seconds; 0 if one of the presented tokens has expired. Times in ms. */
export function delegatedLifespan(now: number, accessTokenSeconds: number, expiries: readonly number[]): number {
  const remaining = expiries.map((expiry) => Math.floor(expiry / 1_000) - Math.floor(now / 1_000));
  return Math.max(0, Math.min(LIFESPAN_S, accessTokenSeconds, ...remaining));
}
