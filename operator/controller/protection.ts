import { isProtectedFrom } from '../../crds/kinds/roles.ts';
import type { KubeObject } from '../../gateway/kube/resource.ts';
import type { ObjectRef } from '../resolve/problems.ts';

/** Keeps an object from going while others refer to it. */
export const IN_USE = 'vmcp.dev/in-use';

export interface Protection {
  /** What the finalizers should be, when they are not. */
  readonly finalizers?: readonly string[];
  /** Who keeps the object from going, as `Kind/name`, sorted; there only while it is to be deleted. */
  readonly blockedBy: readonly string[];
}

/**
 * The finalizer stands on an object exactly while something refers to it. Nothing is protected in a namespace that goes,
 * which takes everything with it in an order that nobody knows, nor where the operator's rights go with the namespace.
 */
export function protectionOf(
  { kind, metadata }: KubeObject,
  referrers: readonly ObjectRef[],
  protects: boolean,
): Protection {
  const { finalizers = [] } = metadata;
  const users = protects ? referrers.filter((referrer) => isProtectedFrom(kind, referrer.kind)) : [];
  const isProtected = finalizers.includes(IN_USE);
  const isLeaving = metadata.deletionTimestamp !== undefined;
  if (users.length === 0) {
    return { blockedBy: [], ...(isProtected && { finalizers: finalizers.filter((each) => each !== IN_USE) }) };
  }
  return {
    blockedBy: isLeaving && isProtected ? users.map((user) => `${user.kind}/${user.name}`).toSorted() : [],
    // The API server takes no new finalizer for an object that is on its way out.
    ...(!isProtected && !isLeaving && { finalizers: [...finalizers, IN_USE] }),
  };
}
