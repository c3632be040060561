import { isObject, type JsonObject } from '../../gateway/contract/json.ts';
import { RESOURCES, type KubeObject } from '../../gateway/kube/resource.ts';
import { ALTERNATIVES } from '../render/pod-template/types.ts';
import { drift, keysOf, sameItem } from './drift.ts';

/** Request that removes fields of others which conflict with the desired ones. */
export interface Repair {
  readonly patch: object;
  /** True for a strategic merge patch, which finds the items of lists by their keys. */
  readonly isStrategic: boolean;
}

/** Fields of which an object may have only one, and a type with a field that other types must not have. */
const GROUPS: readonly (readonly string[])[] = [
  ['maxUnavailable', 'minAvailable'],
  ['type', 'localhostProfile'],
  ...ALTERNATIVES.values(),
];

/**
 * Returns a patch that replaces conflicting fields of others: server-side apply keeps them beside ours, and the API
 * server then rejects the object. Undefined when there are none.
 */
export function repairOf(desired: KubeObject, live: KubeObject): Repair | undefined {
  const { uid, resourceVersion } = live.metadata;
  const metadata = { uid, resourceVersion };
  if (desired.kind === RESOURCES.Service.kind) {
    const spec = replacedPorts(desired, live);
    return spec && { patch: { metadata, spec }, isStrategic: false };
  }
  const spec = chosenAlternatives(desired['spec'], live['spec']);
  return spec && { patch: { metadata, spec }, isStrategic: true };
}

/** Returns true for a RoleBinding to another Role. That field is immutable, so the object must be deleted first. */
export const refersToOtherRole = ({ kind, roleRef }: KubeObject, live: KubeObject): boolean =>
  kind === RESOURCES.RoleBinding.kind && drift({ roleRef }, { roleRef: live['roleRef'] }).length > 0;

/** Returns the ports of a Service. When someone edits the port of an item, the Service has two ports with one name. */
function replacedPorts(desired: KubeObject, live: KubeObject): object | undefined {
  const { ports } = (desired['spec'] ?? {}) as { ports?: readonly unknown[] };
  const { ports: livePorts } = (live['spec'] ?? {}) as { ports?: readonly unknown[] };
  const isSame = drift({ ports }, { ports: livePorts }).length === 0 && ports?.length === livePorts?.length;
  return isSame ? undefined : { ports };
}

/** Returns the part of a patch that sets the desired alternative where the live object has another one. */
function chosenAlternatives(desired: unknown, live: unknown): JsonObject | undefined {
  if (!isObject(desired) || !isObject(live)) return undefined;
  const entries = Object.entries(desired).flatMap(([member, value]) => {
    const group = GROUPS.find((each) => each.includes(member)) ?? [];
    const others = group.filter((other) => desired[other] === undefined && live[other] !== undefined);
    if (others.length > 0) return [[member, value] as const, ...others.map((other) => [other, null] as const)];
    const below = Array.isArray(value)
      ? itemsOf(value, live[member], keysOf(member))
      : chosenAlternatives(value, live[member]);
    return below ? [[member, below] as const] : [];
  });
  return entries.length > 0 ? Object.fromEntries(entries) : undefined;
}

/** Returns the items of a merged list that need a patch. */
function itemsOf(desired: readonly unknown[], live: unknown, keys: readonly string[] = []): JsonObject[] | undefined {
  if (keys.length === 0 || !Array.isArray(live)) return undefined;
  const items = desired.flatMap((item) => {
    const below = chosenAlternatives(
      item,
      live.find((other) => sameItem(item, other, keys)),
    );
    return below && isObject(item) ? [{ ...Object.fromEntries(keys.map((key) => [key, item[key]])), ...below }] : [];
  });
  return items.length > 0 ? items : undefined;
}

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
