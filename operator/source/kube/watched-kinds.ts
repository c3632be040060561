import { KINDS } from '../../../crds/kinds/index.ts';
import { type ReferenceTarget } from '../../../crds/kinds/roles.ts';
import { ownType, RESOURCES, type ResourceType } from '../../../gateway/kube/resource.ts';

/** Types of the custom resources. */
export const OWN_TYPES: readonly ResourceType[] = KINDS.map(({ kind }) => ownType(kind));

/** Label selector of objects that the operator created. */
export const OWNED_SELECTOR = 'app.kubernetes.io/managed-by=vmcp-operator';

/** Types of user objects whose contents are read only when a custom resource refers to them. */
export const DATA_TYPES: Readonly<Record<DataKind, ResourceType>> = {
  Secret: RESOURCES.Secret,
  ConfigMap: RESOURCES.ConfigMap,
};
export type DataKind = Extract<ReferenceTarget, 'Secret' | 'ConfigMap'>;

export const isDataKind = (kind: string): kind is DataKind => kind === 'Secret' || kind === 'ConfigMap';
