import type { KubeObject } from '../../gateway/kube/resource.ts';

/** Holds the number of replicas of a workload whose owner names none any more, until somebody else changes it. */
export const REPLICAS_MANAGER = 'vmcp-operator-replicas';

interface ManagedFields {
  readonly manager?: string;
  readonly operation?: string;
  readonly subresource?: string;
  readonly fieldsV1?: { readonly 'f:spec'?: { readonly 'f:replicas'?: unknown } };
}

/**
 * What to apply as REPLICAS_MANAGER before `manager` applies a workload without `replicas`: the field would go with its
 * last manager, and the API server would fill in 1. Undefined when `manager` does not have the field.
 */
export function replicasToKeep(live: KubeObject, manager: string): KubeObject | undefined {
  const { apiVersion, kind, metadata } = live;
  const { namespace, name, uid, resourceVersion } = metadata;
  const { managedFields = [] } = metadata as { managedFields?: readonly ManagedFields[] };
  const isHeld = managedFields.some(
    (each) =>
      each.manager === manager &&
      each.operation === 'Apply' &&
      (each.subresource ?? '') === '' &&
      each.fieldsV1?.['f:spec']?.['f:replicas'] !== undefined,
  );
  const { replicas } = (live['spec'] ?? {}) as { readonly replicas?: number };
  if (!isHeld || replicas === undefined) return undefined;
  // Of this version only: an autoscaler may be changing the number right now.
  const precondition = { ...(uid !== undefined && { uid }), ...(resourceVersion !== undefined && { resourceVersion }) };
  return {
    apiVersion,
    kind,
    metadata: { name, ...(namespace !== undefined && { namespace }), ...precondition },
    spec: { replicas },
  };
}
