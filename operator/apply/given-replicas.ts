import type { KubeObject } from '../../gateway/kube/resource.ts';

/** Field manager that keeps the replicas of a workload whose spec no longer sets them, until another manager changes them. */
export const REPLICAS_MANAGER = 'vmcp-operator-replicas';

interface ManagedFields {
  readonly manager?: string;
  readonly operation?: string;
  readonly subresource?: string;
  readonly fieldsV1?: { readonly 'f:spec'?: { readonly 'f:replicas'?: unknown } };
}

/**
 * Returns the object to apply as REPLICAS_MANAGER before `manager` applies a workload without `replicas`. Otherwise the
 * field would lose its last manager and default to 1. Undefined when `manager` does not own the field, and for 0 replicas: the
 * stopped workload then starts with 1, because an autoscaler does not act on 0.
 */
export function replicasToKeep(live: KubeObject, manager: string): KubeObject | undefined {
  const { apiVersion, kind, metadata } = live;
  const { namespace, name, uid, resourceVersion } = metadata;
  const { managedFields = [] } = metadata as { managedFields?: readonly ManagedFields[] };
  const isOwned = managedFields.some(
    (each) =>
      each.manager === manager &&
      each.operation === 'Apply' &&
      (each.subresource ?? '') === '' &&
      each.fieldsV1?.['f:spec']?.['f:replicas'] !== undefined,
  );
  const { replicas } = (live['spec'] ?? {}) as { readonly replicas?: number };
  if (!isOwned || replicas === undefined || replicas === 0) return undefined;
  // Applies to this version only: an autoscaler may be changing the number.
  const precondition = { ...(uid !== undefined && { uid }), ...(resourceVersion !== undefined && { resourceVersion }) };
  return {
    apiVersion,
    kind,
    metadata: { name, ...(namespace !== undefined && { namespace }), ...precondition },
    spec: { replicas },
  };
}
