import {
  isConfigKind,
  isGroupKind,
  isMemberKind,
  isOwnKind,
  isReferencedKind,
  isVirtualServerKind,
} from '../../crds/kinds/roles.ts';
import { OWN_API_VERSION, type KubeObject } from '../../gateway/kube/resource.ts';
import { refKey, type ObjectRef } from '../resolve/problems.ts';
import { references } from '../resolve/references.ts';
import type { Resource } from '../resolve/snapshot.ts';

/** An object before and after; one of them is absent when it came or went. */
export interface Change {
  readonly previous?: KubeObject | undefined;
  readonly current?: KubeObject | undefined;
}

/** What has to be known of the other objects. */
export interface Lookups {
  /** Custom resources that name `target`. */
  referrersOf(target: ObjectRef): readonly ObjectRef[];
  /** The groups that a member names now: one or none. */
  groupsOf(member: ObjectRef): readonly string[];
  /** Every custom resource of a namespace. */
  keysIn(namespace: string): readonly ObjectRef[];
}

/** The custom resources that have to be looked at again, each once. The old and the new object both count. */
export function affected(change: Change, lookups: Lookups): ObjectRef[] {
  const object = change.current ?? change.previous;
  if (!object) return [];
  const { kind, metadata } = object;
  if (kind === 'Namespace') return beginsOrEndsToGo(change) ? [...lookups.keysIn(metadata.name)] : [];
  const ref = refOf(object);
  if (object.apiVersion === OWN_API_VERSION && isOwnKind(kind)) {
    return distinct([ref, ...(isNews(change) ? consequences(ref, change, lookups) : [])]);
  }
  const owners = [change.previous, change.current].flatMap((each) => (each ? ownerOf(each) : []));
  const isData = kind === 'Secret' || kind === 'ConfigMap';
  return distinct([...owners, ...(isData ? dependents(ref, lookups) : [])]);
}

const refOf = ({ kind, metadata }: KubeObject): ObjectRef => ({
  kind,
  namespace: metadata.namespace ?? '',
  name: metadata.name,
});

/** What is in a namespace of the same name that came after may have been seen before the old one was seen to be gone. */
const beginsOrEndsToGo = ({ previous, current }: Change): boolean => isGoing(previous) !== isGoing(current);

const isGoing = (namespace: KubeObject | undefined): boolean => namespace?.metadata.deletionTimestamp !== undefined;

/** Whether others could see a difference: they read the spec, and whether the object is about to go. */
function isNews({ previous, current }: Change): boolean {
  if (!previous || !current) return true;
  const [before, after] = [previous.metadata, current.metadata];
  return (
    before.uid !== after.uid ||
    before.generation !== after.generation ||
    before.deletionTimestamp !== after.deletionTimestamp
  );
}

function consequences(ref: ObjectRef, change: Change, lookups: Lookups): ObjectRef[] {
  const { namespace } = ref;
  const named = [change.previous, change.current].flatMap((each) =>
    each ? references(each as unknown as Resource) : [],
  );
  const targets = named
    .filter(({ target }) => isReferencedKind(target))
    .map(({ target, name }) => ({ kind: target, namespace, name }));
  const groups = targets.filter(({ kind }) => isGroupKind(kind));
  return [
    ...targets,
    ...(isMemberKind(ref.kind) ? groups.flatMap((group) => serversOf(group, lookups)) : []),
    ...(isGroupKind(ref.kind) ? lookups.referrersOf(ref) : []),
    ...(isConfigKind(ref.kind) ? dependents(ref, lookups) : []),
  ];
}

/** Who names an object, and whom that reaches: the VirtualMCPServers over a member, the users of a configuration. */
function dependents(target: ObjectRef, lookups: Lookups): ObjectRef[] {
  return lookups.referrersOf(target).flatMap((referrer) => {
    if (isConfigKind(referrer.kind)) return [referrer, ...dependents(referrer, lookups)];
    if (!isMemberKind(referrer.kind)) return [referrer];
    const groups = lookups.groupsOf(referrer);
    return [
      referrer,
      ...groups.flatMap((name) => serversOf({ kind: 'MCPGroup', namespace: target.namespace, name }, lookups)),
    ];
  });
}

/** The VirtualMCPServers that serve a group. */
const serversOf = (group: ObjectRef, lookups: Lookups): ObjectRef[] =>
  lookups.referrersOf(group).filter(({ kind }) => isVirtualServerKind(kind));

/** The custom resource that an object was made for. */
function ownerOf({ metadata }: KubeObject): ObjectRef[] {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  if (owner?.apiVersion !== OWN_API_VERSION || !isOwnKind(owner.kind)) return [];
  return [{ kind: owner.kind, namespace: metadata.namespace ?? '', name: owner.name }];
}

function distinct(refs: readonly ObjectRef[]): ObjectRef[] {
  return [...new Map(refs.map((ref) => [refKey(ref), ref])).values()];
}
