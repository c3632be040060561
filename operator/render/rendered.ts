import type { KubeObject } from '../../gateway/kube/resource.ts';
import { sortKeys } from '../resolve/config-check.ts';
import { compareText } from '../resolve/snapshot.ts';

/** Sorts objects by kind and name, and members by name, so that equal input gives equal bytes. */
export const inOrder = (objects: readonly KubeObject[]): { readonly objects: KubeObject[] } => ({
  objects: objects
    .toSorted((a, b) => compareText(a.kind, b.kind) || compareText(a.metadata.name, b.metadata.name))
    .map((object) => sortKeys(object)),
});
