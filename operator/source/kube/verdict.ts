import { isMemberKind } from '../../../crds/kinds/roles.ts';
import { validateObject, withDefaults } from '../../../crds/kinds/validate.ts';
import type { KubeObject } from '../../../gateway/kube/resource.ts';
import type { Problem } from '../../../gateway/contract/problem.ts';
import type { BrokenObject, Resource } from '../../resolve/snapshot.ts';

/** What a custom resource is to `resolve`: complete and valid, or broken and why. */
export type Verdict =
  | { readonly is: 'valid'; readonly resource: Resource }
  | { readonly is: 'broken'; readonly broken: BrokenObject; readonly problems: readonly Problem[] };

/**
 * Judges what the API server holds by the same rules as files: it may hold what an older schema allowed. Status and
 * metadata beside the name are the API server's own and are taken as they are.
 * @param earlier the object and its verdict before this change: the spec is not looked at again while it is the same
 */
export function verdictOf(object: KubeObject, earlier?: { object: KubeObject; verdict: Verdict }): Verdict {
  if (earlier && isSameSpec(object, earlier.object)) return retold(object, earlier.verdict);
  const { apiVersion, kind, metadata } = object;
  const judged = { apiVersion, kind, metadata: { name: metadata.name }, spec: object['spec'] };
  const problems = validateObject(kind, judged);
  if (problems.length > 0) return { is: 'broken', broken: brokenObject(object), problems };
  const { spec } = withDefaults(kind, judged);
  // The API server has filled in the defaults already, as a rule: one copy is enough.
  const complete = JSON.stringify(spec) === JSON.stringify(object['spec']) ? object : { ...object, spec };
  return { is: 'valid', resource: complete as unknown as Resource };
}

/** The generation of a custom resource counts the changes of its spec. */
export const isSameSpec = ({ metadata: a }: KubeObject, { metadata: b }: KubeObject): boolean =>
  a.uid !== undefined && a.uid === b.uid && a.generation !== undefined && a.generation === b.generation;

function retold(object: KubeObject, verdict: Verdict): Verdict {
  if (verdict.is === 'broken') return verdict;
  const { spec } = verdict.resource;
  return { is: 'valid', resource: { ...object, spec } as unknown as Resource };
}

function brokenObject({ kind, metadata: { name }, spec }: KubeObject): BrokenObject {
  const group = (spec as { groupRef?: { name?: unknown } } | undefined)?.groupRef?.name;
  return { kind, name, ...(isMemberKind(kind) && typeof group === 'string' && { group }) };
}
