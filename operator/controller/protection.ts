import type { KubeObject } from '../../gateway/kube/resource.ts';
import type { ObjectRef } from '../resolve/problems.ts';

/** Keeps an object from going while others refer to it. */
export const IN_USE = 'vmcp.dev/in-use';

/** Whose references protect an object, by its kind; a kind that is not here is not protected. */
const PROTECTED_FROM: ReadonlyMap<string, (referrer: ObjectRef) => boolean> = new Map([
  ['MCPOIDCConfig', () => true],
  ['MCPExternalAuthConfig', () => true],
  // Members refer to their group as well, but can do without it.
  ['MCPGroup', ({ kind }: ObjectRef) => kind === 'VirtualMCPServer'],
]);

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
  const counts = PROTECTED_FROM.get(kind);
  const users = counts && protects ? referrers.filter(counts) : [];
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
