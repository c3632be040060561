import { isMemberKind } from '../../../crds/kinds/roles.ts';
import { validateObject, withDefaults } from '../../../crds/kinds/validate.ts';
import type { KubeObject } from '../../../gateway/kube/resource.ts';
import type { Problem } from '../../../gateway/contract/problem.ts';
import type { BrokenObject, Resource } from '../../resolve/snapshot.ts';

/** Result of the validation of a custom resource. */
export type Verdict =
  | { readonly is: 'valid'; readonly resource: Resource }
  | { readonly is: 'broken'; readonly broken: BrokenObject; readonly problems: readonly Problem[] };

/**
 * Validates an object of the API server by the same rules as files: an older CRD may have accepted it. The status, and
 * the metadata except for the name, are not validated.
 * @param earlier the object before this change and its verdict, which is reused while the spec is the same
 */
export function verdictOf(object: KubeObject, earlier?: { object: KubeObject; verdict: Verdict }): Verdict {
  if (earlier && isSameSpec(object, earlier.object)) return withEarlierVerdict(object, earlier.verdict);
  const { apiVersion, kind, metadata } = object;
  const validated = { apiVersion, kind, metadata: { name: metadata.name }, spec: object['spec'] };
  const problems = validateObject(kind, validated);
  if (problems.length > 0) return { is: 'broken', broken: brokenObject(object), problems };
  const { spec } = withDefaults(kind, validated);
  // The API server usually adds the defaults. Then the object is used as it is, to save memory.
  const complete = JSON.stringify(spec) === JSON.stringify(object['spec']) ? object : { ...object, spec };
  return { is: 'valid', resource: complete as unknown as Resource };
}

/** Returns true when two versions have the same spec: the generation of a custom resource counts changes of its spec. */
export const isSameSpec = ({ metadata: a }: KubeObject, { metadata: b }: KubeObject): boolean =>
  a.uid !== undefined && a.uid === b.uid && a.generation !== undefined && a.generation === b.generation;

function withEarlierVerdict(object: KubeObject, verdict: Verdict): Verdict {
  if (verdict.is === 'broken') return verdict;
  const { spec } = verdict.resource;
  return { is: 'valid', resource: { ...object, spec } as unknown as Resource };
}

function brokenObject({ kind, metadata: { name }, spec }: KubeObject): BrokenObject {
  const group = (spec as { groupRef?: { name?: unknown } } | undefined)?.groupRef?.name;
  return { kind, name, ...(isMemberKind(kind) && typeof group === 'string' && { group }) };
}
