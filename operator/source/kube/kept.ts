import type { KubeObject } from '../../../gateway/kube/resource.ts';

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';
/** Whether a workload is up stands in its status; of other owned objects the status is nobody's business here. */
const WITH_STATUS: ReadonlySet<string> = new Set(['Deployment', 'StatefulSet']);

/** Of an object of a user: which one it is and which version. Its annotations may hold the values of a Secret. */
export function keptIdentity({ apiVersion, kind, metadata }: KubeObject): KubeObject {
  const { name, namespace, uid, resourceVersion } = metadata;
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      ...(namespace !== undefined && { namespace }),
      ...(uid !== undefined && { uid }),
      ...(resourceVersion !== undefined && { resourceVersion }),
    },
  };
}

/** Of an object that the operator made: what it applied, and how a workload fares. */
export function keptOwned(object: KubeObject): KubeObject {
  const { status, ...rest } = withoutLastApplied(object);
  return status !== undefined && WITH_STATUS.has(object.kind) ? { ...rest, status } : rest;
}

/** Of a custom resource: everything but the copy of itself that kubectl leaves in it. */
export function withoutLastApplied(object: KubeObject): KubeObject {
  const { annotations } = object.metadata;
  if (annotations?.[LAST_APPLIED] === undefined) return object;
  const { [LAST_APPLIED]: _, ...others } = annotations;
  return { ...object, metadata: { ...object.metadata, annotations: others } };
}

/** Of a namespace: whether it is about to go. */
export function keptNamespace(object: KubeObject): KubeObject {
  const { deletionTimestamp } = object.metadata;
  const kept = keptIdentity(object);
  return deletionTimestamp === undefined ? kept : { ...kept, metadata: { ...kept.metadata, deletionTimestamp } };
}
