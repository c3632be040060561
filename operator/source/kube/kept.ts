import type { KubeObject } from '../../../gateway/kube/resource.ts';

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';
/** Kinds whose status is kept: it contains the readiness of a workload, or the verdict of a Gateway on a route. */
const WITH_STATUS: ReadonlySet<string> = new Set(['Deployment', 'StatefulSet', 'HTTPRoute']);

/** Returns the identity and version of an object of a user. Its annotations are dropped: they may contain values of a Secret. */
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

/** Returns an object of the operator without the status, except for kinds that report in it. */
export function keptOwned(object: KubeObject): KubeObject {
  const { status, ...rest } = withoutLastApplied(object);
  return status !== undefined && WITH_STATUS.has(object.kind) ? { ...rest, status } : rest;
}

/** Returns an object without the copy that `kubectl apply` stores in an annotation. */
export function withoutLastApplied(object: KubeObject): KubeObject {
  const { annotations } = object.metadata;
  if (annotations?.[LAST_APPLIED] === undefined) return object;
  const { [LAST_APPLIED]: _, ...others } = annotations;
  return { ...object, metadata: { ...object.metadata, annotations: others } };
}

/** Returns the identity of a namespace and its deletion time. */
export function keptNamespace(object: KubeObject): KubeObject {
  const { deletionTimestamp } = object.metadata;
  const kept = keptIdentity(object);
  return deletionTimestamp === undefined ? kept : { ...kept, metadata: { ...kept.metadata, deletionTimestamp } };
}
