import type { Identity } from '../contract/identity.ts';
import { isObject } from '../contract/json.ts';
import type { ClientInfo } from '../policy/policy.ts';
import type { Delegation, Subjects, WhoText } from './event.ts';

export const ANONYMOUS_USER = 'anonymous';
/** Characters of one claim that are written. */
const MAX_CLAIM = 256;

/** User of an identity, and the actors on its behalf. */
export interface Who {
  readonly subjects: Subjects;
  readonly delegation: Delegation | undefined;
}

const ANONYMOUS: Who = { subjects: { user: ANONYMOUS_USER }, delegation: undefined };

/** Renders a user for the lines of its events. */
export const toText = ({ subjects, delegation }: Who): WhoText => ({
  subjects: JSON.stringify(subjects),
  delegation: delegation && JSON.stringify(delegation),
});

/** Describes the user of an identity; undefined is an anonymous one. */
export function whoIs(identity: Identity | undefined, maxDepth: number): Who {
  if (!identity) return ANONYMOUS;
  const { claims, subject, issuer } = identity;
  const named = ['name', 'preferred_username', 'email'].map((claim) => textOf(claims[claim]));
  const user = named.find((name) => name !== undefined) ?? ANONYMOUS_USER;
  return { subjects: { user, user_id: subject, issuer }, delegation: delegationOf(claims['act'], maxDepth) };
}

/** Adds the client's own name and version, as far as it sent them. */
export const withClient = (subjects: Subjects, { name, version }: ClientInfo): Subjects =>
  name === '' && version === ''
    ? subjects
    : { ...subjects, ...(name !== '' && { client_name: name }), ...(version !== '' && { client_version: version }) };

/** Returns the chain of actors of an `act` claim, at most `maxDepth`. @see RFC 8693 section 4.1 */
export function delegationOf(act: unknown, maxDepth: number): Delegation | undefined {
  if (act === undefined) return undefined;
  const chain: { iss?: string; sub?: string }[] = [];
  let omitted = 0;
  let next: unknown = act;
  while (isObject(next)) {
    const [sub, iss] = [textOf(next['sub']), textOf(next['iss'])];
    if (sub === undefined) break;
    if (chain.length < maxDepth) chain.push({ ...(iss !== undefined && { iss }), sub });
    else omitted += 1;
    next = next['act'];
  }
  return {
    chain,
    ...(omitted > 0 && { truncated: true, omitted }),
    ...(next !== undefined && { malformed: true }),
  };
}

const textOf = (claim: unknown): string | undefined =>
  typeof claim === 'string' && claim !== '' ? claim.slice(0, MAX_CLAIM) : undefined;
