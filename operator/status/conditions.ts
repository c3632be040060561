import { isConfigKind } from '../../crds/kinds/roles.ts';
import type { KubeObject } from '../../gateway/kube/resource.ts';
import { compareText } from '../resolve/snapshot.ts';
import type { Claim } from './claim.ts';
import { cut } from './message.ts';

export interface Condition {
  readonly type: string;
  readonly status: Claim['status'];
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

/** What the operator says about an object. */
export interface ObjectStatus {
  /** Exactly what the operator owns of the status. */
  readonly status: Readonly<Record<string, unknown>>;
  /** Whether the object does what its spec says; what the gauge of a resource shows. */
  readonly ready: boolean;
  /** What changed since the status that the object has. */
  readonly events: readonly StatusEvent[];
}

/** What the API server takes as the message of an event. */
const MOST_EVENT_BYTES = 1024;

/** The status as the API server has it; empty where nobody has written one. */
export const statusOf = ({ status }: KubeObject): Readonly<Record<string, unknown>> =>
  typeof status === 'object' && status !== null ? (status as Record<string, unknown>) : {};

export function conditionsOf(object: KubeObject): ReadonlyMap<string, Condition> {
  const { conditions } = statusOf(object);
  return new Map(
    (Array.isArray(conditions) ? (conditions as Condition[]) : []).map((condition) => [condition.type, condition]),
  );
}

/** The claims as conditions, sorted by type, each with the time at which its status last changed. */
export function settle(object: KubeObject, claims: readonly Claim[], now: string): Condition[] {
  const live = conditionsOf(object);
  return claims
    .toSorted((a, b) => compareText(a.type, b.type))
    .map(({ type, status, reason, message }) => {
      const before = live.get(type);
      const lastTransitionTime = before?.status === status ? before.lastTransitionTime : now;
      return { type, status, reason, message, lastTransitionTime, observedGeneration: object.metadata.generation ?? 0 };
    });
}

/** One event for each claim that was not so before; what is right from the start is not worth one. */
export function eventsOf(object: KubeObject, claims: readonly Claim[]): StatusEvent[] {
  const live = conditionsOf(object);
  return claims
    .toSorted((a, b) => compareText(a.type, b.type))
    .flatMap((claim): StatusEvent[] => {
      const { type, status, message, alarming } = claim;
      const before = live.get(type);
      const isServing = type === 'Ready' && status === 'True';
      if (before?.status === status || status === 'Unknown' || !(alarming || before || isServing)) return [];
      const text = cut(message, MOST_EVENT_BYTES);
      return [{ type: alarming ? 'Warning' : 'Normal', reason: eventReason(object.kind, claim), message: text }];
    });
}

/** Events say what conditions say, in words of their own where a kind is only referred to. */
function eventReason(kind: string, { type, status, reason }: Claim): string {
  if (type === 'DeletionBlocked') return type;
  if (type !== 'Valid' || !isConfigKind(kind)) return reason;
  return status === 'True' ? 'ConfigValid' : 'ConfigInvalid';
}

/** The parts of every status: what was looked at, what was found, and what is worth an event. */
export function concludeStatus(
  object: KubeObject,
  claims: readonly Claim[],
  now: string,
  { ready, ...rest }: { readonly ready: boolean } & Readonly<Record<string, unknown>>,
): ObjectStatus {
  const status = {
    ...Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined)),
    observedGeneration: object.metadata.generation ?? 0,
    conditions: settle(object, claims, now),
  };
  return { status, ready, events: eventsOf(object, claims) };
}
