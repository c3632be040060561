import { AUTH_SERVER } from '../../crds/kinds/mcp-external-auth-config.ts';
import {
  isConfigKind,
  isGroupKind,
  isMemberKind,
  isOwnKind,
  isReferencedKind,
  isVirtualServerKind,
} from '../../crds/kinds/roles.ts';
import { OWN_API_VERSION, type KubeObject } from '../../gateway/kube/resource.ts';
import { refKey, type ObjectRef } from '../resolve/scope.ts';
import { references } from '../resolve/references.ts';
import type { Resource } from '../resolve/snapshot.ts';

/** Change of an object. `previous` is absent after a creation, `current` after a deletion. */
export interface Change {
  readonly previous?: KubeObject | undefined;
  readonly current?: KubeObject | undefined;
}

/** Queries about other objects. */
export interface Lookups {
  /** Returns the custom resources that refer to `target`. */
  referrersOf(target: ObjectRef): readonly ObjectRef[];
  /** Returns the objects that a custom resource refers to. */
  targetsOf(referrer: ObjectRef): readonly ObjectRef[];
  /** Returns every custom resource in a namespace. */
  refsIn(namespace: string): readonly ObjectRef[];
}

/** Returns the custom resources to reconcile after a change, each once. References of both versions count. */
export function affected(change: Change, lookups: Lookups): ObjectRef[] {
  const object = change.current ?? change.previous;
  if (!object) return [];
  const { kind, metadata } = object;
  if (kind === 'Namespace') return terminationChanged(change) ? [...lookups.refsIn(metadata.name)] : [];
  const ref = refOf(object);
  if (object.apiVersion === OWN_API_VERSION && isOwnKind(kind)) {
    return distinct([ref, ...(affectsOthers(change) ? relatedObjects(ref, change, lookups) : [])]);
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

/** Returns true when the termination of a namespace starts, or ends because a namespace of the same name exists again. */
const terminationChanged = ({ previous, current }: Change): boolean =>
  isTerminating(previous) !== isTerminating(current);

const isTerminating = (namespace: KubeObject | undefined): boolean =>
  namespace?.metadata.deletionTimestamp !== undefined;

/** Returns true when the change can affect other objects: they depend on the spec and on the deletion. */
function affectsOthers({ previous, current }: Change): boolean {
  if (!previous || !current) return true;
  const [before, after] = [previous.metadata, current.metadata];
  return (
    before.uid !== after.uid ||
    before.generation !== after.generation ||
    before.deletionTimestamp !== after.deletionTimestamp
  );
}

function relatedObjects(ref: ObjectRef, change: Change, lookups: Lookups): ObjectRef[] {
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
    ...(isMemberKind(ref.kind) ? groups.flatMap((group) => virtualServersOf(group, lookups)) : []),
    ...(isGroupKind(ref.kind) ? lookups.referrersOf(ref) : []),
    ...(isConfigKind(ref.kind) ? dependents(ref, lookups) : []),
    ...(isAuthServer(change) ? issuersOf(ref, lookups) : []),
  ];
}

const isAuthServer = ({ previous, current }: Change): boolean =>
  [previous, current].some((each) => (each?.['spec'] as { type?: unknown } | undefined)?.type === AUTH_SERVER);

/** Returns the configs of the servers with this authorization server: one of them describes its tokens. */
const issuersOf = (authServer: ObjectRef, lookups: Lookups): ObjectRef[] =>
  lookups
    .referrersOf(authServer)
    .flatMap((server) => lookups.targetsOf(server).filter(({ kind }) => isConfigKind(kind)));

/** Returns the objects that refer to `target`, directly or through a config or a member of a group. */
function dependents(target: ObjectRef, lookups: Lookups): ObjectRef[] {
  return lookups.referrersOf(target).flatMap((referrer) => {
    if (isConfigKind(referrer.kind)) return [referrer, ...dependents(referrer, lookups)];
    if (!isMemberKind(referrer.kind)) return [referrer];
    const groups = lookups.targetsOf(referrer).filter(({ kind }) => isGroupKind(kind));
    return [referrer, ...groups.flatMap((group) => virtualServersOf(group, lookups))];
  });
}

/** Returns the VirtualMCPServers that serve a group. */
const virtualServersOf = (group: ObjectRef, lookups: Lookups): ObjectRef[] =>
  lookups.referrersOf(group).filter(({ kind }) => isVirtualServerKind(kind));

/** Returns the custom resource that controls an object. */
function ownerOf({ metadata }: KubeObject): ObjectRef[] {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  if (owner?.apiVersion !== OWN_API_VERSION || !isOwnKind(owner.kind)) return [];
  return [{ kind: owner.kind, namespace: metadata.namespace ?? '', name: owner.name }];
}

function distinct(refs: readonly ObjectRef[]): ObjectRef[] {
  return [...new Map(refs.map((ref) => [refKey(ref), ref])).values()];
}
