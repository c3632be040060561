import type { KubeObject } from '../../gateway/kube/resource.ts';
import { sortKeys } from '../resolve/config-check.ts';
import { compareText } from '../resolve/snapshot.ts';

/** By kind, then name, members in the order of their names: equal input gives equal bytes. */
export const inOrder = (objects: readonly KubeObject[]): { readonly objects: KubeObject[] } => ({
  objects: objects
    .toSorted((a, b) => compareText(a.kind, b.kind) || compareText(a.metadata.name, b.metadata.name))
    .map((object) => sortKeys(object)),
});
