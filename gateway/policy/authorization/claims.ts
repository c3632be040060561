import type { CedarValueJson } from '@cedar-policy/cedar-wasm/nodejs';
import { isObject } from '../../contract/json.ts';

type Claims = Readonly<Record<string, unknown>>;

/** Claims that hold groups when the configuration names none, in order of preference. */
const GROUP_CLAIMS = ['groups', 'roles', 'cognito:groups'];
const CLAIM = 'claim_';
const CLAIM_SET = 'claimset_';

/** Names of the claims from which groups are read. */
export interface GroupClaims {
  readonly group_claim_name?: string;
  readonly role_claim_name?: string;
}

/** Returns the names of a user's groups and roles, each once. A claim that is a string names one group. */
export function groupsOf(claims: Claims, { group_claim_name: group, role_claim_name: role }: GroupClaims): string[] {
  const known = group ?? GROUP_CLAIMS.find((name) => Object.hasOwn(claims, name));
  const names = [known, role].flatMap((name) => (name === undefined ? [] : namesIn(claimAt(claims, name))));
  return [...new Set(names)];
}

function namesIn(value: unknown): string[] {
  const values: unknown[] = Array.isArray(value) ? value : [value];
  return values.filter((name) => typeof name === 'string' && name !== '' && name.isWellFormed()) as string[];
}

/** Returns the claim of this name, else the member at this dotted path, such as `realm_access.roles`. */
function claimAt(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  return name.split('.').reduce<unknown>((holder, member) => {
    return isObject(holder) && Object.hasOwn(holder, member) ? holder[member] : undefined;
  }, claims);
}

/** Returns the claims with an empty list for each claim of groups that is absent: providers leave it out for a user without groups. */
export function withGroupClaims(
  claims: Claims,
  { group_claim_name: group = 'groups', role_claim_name: role }: GroupClaims,
): Claims {
  const isAbsent = (name: string | undefined): name is string =>
    name !== undefined && claimAt(claims, name) === undefined;
  const absent: Record<string, unknown> = Object.fromEntries([group, role].filter(isAbsent).map((name) => [name, []]));
  return { ...claims, ...absent };
}

/** Returns the attribute names of all claims, for policies that use `context` as a whole. */
export const claimAttributes = (claims: Claims): string[] =>
  Object.keys(claims).flatMap((name) =>
    Array.isArray(claims[name]) ? [CLAIM + name, CLAIM_SET + name] : [CLAIM + name],
  );

/**
 * Returns the attributes of these names that claims can give: `claim_<name>` for text, whole numbers, booleans and lists of them;
 * `claimset_<name>` for such lists, and for text, which it splits at white space (RFC 8693 section 4.2, `scope`).
 */
export function claimValues(claims: Claims, names: Iterable<string>): Record<string, CedarValueJson> {
  const values: Record<string, CedarValueJson> = {};
  for (const name of names) {
    const isSet = name.startsWith(CLAIM_SET);
    if (!isSet && !name.startsWith(CLAIM)) continue;
    const claim = name.slice((isSet ? CLAIM_SET : CLAIM).length);
    const held = Object.hasOwn(claims, claim) ? claims[claim] : undefined;
    const value = isSet ? setOf(held) : (scalarOf(held) ?? (Array.isArray(held) ? setOf(held) : undefined));
    if (value !== undefined) values[name] = value;
  }
  return values;
}

function setOf(claim: unknown): CedarValueJson[] | undefined {
  if (typeof claim === 'string') return claim.split(/\s+/u).filter((word) => word !== '' && word.isWellFormed());
  if (!Array.isArray(claim)) return undefined;
  const values = claim.map(scalarOf);
  return values.every((value) => value !== undefined) ? values : undefined;
}

/** Returns a value that Cedar represents exactly; undefined for others. */
export function scalarOf(value: unknown): string | number | boolean | undefined {
  if (typeof value === 'boolean') return value;
  if (typeof value === 'string') return value.isWellFormed() ? value : undefined;
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : undefined;
}
