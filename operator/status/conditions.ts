import { hasWorkload, isConfigKind } from '../../crds/kinds/roles.ts';
import type { KubeObject } from '../../gateway/kube/resource.ts';
import { compareText } from '../resolve/snapshot.ts';
import type { ConditionState } from './condition-state.ts';
import { cut } from './message.ts';

export interface Condition {
  readonly type: string;
  readonly status: ConditionState['status'];
  readonly reason: string;
  readonly message: string;
  /** When `status` last changed, RFC 3339. */
  readonly lastTransitionTime: string;
  readonly observedGeneration: number;
}

export interface StatusEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** Status of an object, with the facts that follow from it. */
export interface ObjectStatus {
  /** The members of the status that the operator owns. */
  readonly status: Readonly<Record<string, unknown>>;
  /** True when the object works as its spec says. Exported as the gauge of the resource. */
  readonly ready: boolean;
  /** Changes since the status that the object has now. */
  readonly events: readonly StatusEvent[];
}

/** Longest event message that the API server accepts. */
const MOST_EVENT_BYTES = 1024;

/** Returns the status that the API server has; empty when none has been written. */
export const statusOf = ({ status }: KubeObject): Readonly<Record<string, unknown>> =>
  typeof status === 'object' && status !== null ? (status as Record<string, unknown>) : {};

export function conditionsOf(object: KubeObject): ReadonlyMap<string, Condition> {
  const { conditions } = statusOf(object);
  return new Map(
    (Array.isArray(conditions) ? (conditions as Condition[]) : []).map((condition) => [condition.type, condition]),
  );
}

/** Returns the conditions sorted by type, each with the time of its last status change. */
export function withTransitionTimes(object: KubeObject, states: readonly ConditionState[], now: string): Condition[] {
  const live = conditionsOf(object);
  return states
    .toSorted((a, b) => compareText(a.type, b.type))
    .map(({ type, status, reason, message }) => {
      const before = live.get(type);
      const lastTransitionTime = before?.status === status ? before.lastTransitionTime : now;
      return { type, status, reason, message, lastTransitionTime, observedGeneration: object.metadata.generation ?? 0 };
    });
}

/** Returns one event per changed condition. A condition that is good from the start gets none, except `Ready`. */
export function eventsOf(object: KubeObject, states: readonly ConditionState[]): StatusEvent[] {
  const live = conditionsOf(object);
  return states
    .toSorted((a, b) => compareText(a.type, b.type))
    .flatMap((condition): StatusEvent[] => {
      const { type, status, message, needsAction } = condition;
      if (isSummary(type, object.kind)) return [];
      const before = live.get(type);
      const isServing = type === 'Ready' && status === 'True';
      if (before?.status === status || status === 'Unknown' || !(needsAction || before || isServing)) return [];
      const text = cut(message, MOST_EVENT_BYTES);
      return [{ type: needsAction ? 'Warning' : 'Normal', reason: eventReason(object.kind, condition), message: text }];
    });
}

/** Returns true for a condition that only repeats others, which have events. */
const isSummary = (type: string, kind: string): boolean =>
  type === 'Reconciling' || type === 'Stalled' || (type === 'Ready' && !hasWorkload(kind));

/** Returns the reason of the condition, except for config kinds, whose events have reasons of their own. */
function eventReason(kind: string, { type, status, reason }: ConditionState): string {
  if (type === 'DeletionBlocked') return type;
  if (type !== 'Valid' || !isConfigKind(kind)) return reason;
  return status === 'True' ? 'ConfigValid' : 'ConfigInvalid';
}

/** Builds the status of an object: the given members, `observedGeneration`, the conditions and the events. */
export function buildStatus(
  object: KubeObject,
  states: readonly ConditionState[],
  now: string,
  { ready, ...rest }: { readonly ready: boolean } & Readonly<Record<string, unknown>>,
): ObjectStatus {
  const status = {
    ...Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined)),
    observedGeneration: object.metadata.generation ?? 0,
    conditions: withTransitionTimes(object, states, now),
  };
  return { status, ready, events: eventsOf(object, states) };
}
