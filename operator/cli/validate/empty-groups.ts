import { isMemberKind, isOwnKind } from '../../../crds/kinds/roles.ts';
import { refKey, type ObjectProblem } from '../../resolve/problems.ts';
import type { Manifests } from '../../source/files/load.ts';
import { groupNameOf } from '../../source/files/manifest-object.ts';
import { isPlainKind } from '../../source/files/plain-kinds.ts';

/** Reason of the warning about a group without members. */
const GROUP_EMPTY = 'GroupEmpty';

type Read = Pick<Manifests, 'objects' | 'snapshots'>;

/** Removes warnings about groups that may be empty because of one of the problems: a member was rejected, or could not be read. */
export function withoutEmptyGroups<W extends ObjectProblem>(
  warnings: readonly W[],
  problems: readonly ObjectProblem[],
  manifests: Read,
): W[] {
  const taken = problems.map((problem) => groupsOf(problem, manifests));
  return warnings.filter(({ reason, namespace, name }) => {
    if (reason !== GROUP_EMPTY) return true;
    const group = manifests.snapshots.get(namespace)?.vmcps.get(name)?.spec.groupRef.name ?? '';
    return !taken.some((groups) => groups === 'any' || groups.has(`${namespace}/${group}`));
  });
}

/** Returns the groups, as `namespace/name`, that the objects with this problem may belong to. */
function groupsOf(problem: ObjectProblem, { objects, snapshots }: Read): ReadonlySet<string> | 'any' {
  const { kind } = problem;
  if (!isMemberKind(kind)) return isOwnKind(kind) || isPlainKind(kind) ? new Set() : 'any';
  const names = objects.filter((object) => refKey(object) === refKey(problem)).map(groupNameOf);
  const groups = snapshots.get(problem.namespace)?.groups;
  // an absent or unknown group may be the mistake
  const isKnown = names.every((name) => name !== undefined && groups?.has(name) === true);
  return isKnown ? new Set(names.map((name) => `${problem.namespace}/${name ?? ''}`)) : 'any';
}
