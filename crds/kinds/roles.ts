import { KINDS } from './index.ts';
import type { Kind, Role } from './schema/kind.ts';

/** Kinds that other kinds refer to by name. */
export type ReferencedKind = Extract<(typeof KINDS)[number], { readonly role: 'group' | 'config' }>['kind'];

const byName: ReadonlyMap<string, Kind> = new Map(KINDS.map((kind) => [kind.kind, kind]));

const hasRole =
  (role: Role) =>
  (kind: string): boolean =>
    byName.get(kind)?.role === role;

export const isOwnKind = (kind: string): boolean => byName.has(kind);
export const isVirtualServerKind = hasRole('virtualServer');
export const isMemberKind = hasRole('member');
export const isGroupKind = hasRole('group');
export const isConfigKind = hasRole('config');

/** Returns true for kinds whose objects have pods. */
export const hasWorkload = (kind: string): boolean => byName.get(kind)?.hasWorkload === true;

/** Returns true for kinds that other kinds refer to. */
export const isReferencedKind = (kind: string): kind is ReferencedKind => byName.get(kind)?.referencedAs !== undefined;

/** Kinds by the fields of a spec that refer to them. */
export const REFERENCE_FIELDS: ReadonlyMap<string, ReferencedKind> = new Map(
  KINDS.flatMap(({ kind, referencedAs }) =>
    (referencedAs?.fields ?? []).map((field) => [field, kind as ReferencedKind] as const),
  ),
);

/** Returns true when a reference from a `referrer` blocks the deletion of an object of `kind`. */
export function isProtectedFrom(kind: string, referrer: string): boolean {
  const referencedAs = byName.get(kind)?.referencedAs;
  return referencedAs !== undefined && (referencedAs.protectedFrom?.includes(referrer) ?? true);
}

export type ReferenceTarget = ReferencedKind | 'Secret' | 'ConfigMap';

/** Fields with a value `{name}` or `{name, key}`, and the kind that they refer to. */
const TARGETS: ReadonlyMap<string, ReferenceTarget> = new Map([
  ...REFERENCE_FIELDS,
  ['configMapRef', 'ConfigMap'],
  ['configMap', 'ConfigMap'],
  ['passwordRef', 'Secret'],
  ['initialAccessTokenRef', 'Secret'],
  ['privateKeyRef', 'Secret'],
  ['secretKeyRef', 'Secret'],
  ['secrets', 'Secret'],
]);

const SECRET_MEMBER = /SecretRefs?$/u;

/** Returns the kind that a field, or each item of its list, refers to; undefined for a field that is no reference. */
export const referenceTarget = (field: string): ReferenceTarget | undefined =>
  TARGETS.get(field) ?? (SECRET_MEMBER.test(field) ? 'Secret' : undefined);
