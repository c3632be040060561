import { REFERENCE_FIELDS, type ReferencedKind } from './roles.ts';

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
