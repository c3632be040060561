import { isProtectedFrom } from '../../crds/kinds/roles.ts';
import type { KubeObject } from '../../gateway/kube/resource.ts';
import type { ObjectRef } from '../resolve/scope.ts';

/** Finalizer that blocks the deletion of an object while others refer to it. */
export const IN_USE = 'vmcp.dev/in-use';

export interface Protection {
  /** New finalizers. Absent when they need no change. */
  readonly finalizers?: readonly string[];
  /** Objects that block the deletion, as `Kind/name`, sorted. Empty unless the object is being deleted. */
  readonly blockedBy: readonly string[];
}

/**
 * Returns the finalizers of an object and what blocks its deletion. The finalizer is set exactly while other objects
 * refer to this one. Objects in a terminating namespace are not protected, because Kubernetes deletes them in any order;
 * nor are objects in single watched namespaces, where the permissions of the operator are deleted with the namespace.
 */
export function protectionOf(
  { kind, metadata }: KubeObject,
  referrers: readonly ObjectRef[],
  protects: boolean,
): Protection {
  const { finalizers = [] } = metadata;
  const blockers = protects ? referrers.filter((referrer) => isProtectedFrom(kind, referrer.kind)) : [];
  const isProtected = finalizers.includes(IN_USE);
  const isDeleting = metadata.deletionTimestamp !== undefined;
  if (blockers.length === 0) {
    return { blockedBy: [], ...(isProtected && { finalizers: finalizers.filter((each) => each !== IN_USE) }) };
  }
  return {
    blockedBy: isDeleting && isProtected ? blockers.map((blocker) => `${blocker.kind}/${blocker.name}`).toSorted() : [],
    // The API server rejects new finalizers on an object that is being deleted.
    ...(!isProtected && !isDeleting && { finalizers: [...finalizers, IN_USE] }),
  };
}
