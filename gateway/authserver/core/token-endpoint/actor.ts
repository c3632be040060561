import { isObject } from '../../../contract/json.ts';
import { accepted, refused, type Outcome } from '../refusal.ts';

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
export function readActor(claim: unknown, depth = 1): Outcome<Actor | undefined> {
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
export function withActor(actor: Actor, earlier: Actor | undefined): Outcome<Actor> {
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
