import { hasWorkload, isConfigKind } from '../../crds/kinds/roles.ts';
import type { KubeObject } from '../../gateway/kube/resource.ts';
import { compareText } from '../resolve/snapshot.ts';
import { type ObjectProblem, distinct } from '../resolve/scope.ts';

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
      const text = cutMessage(message, MOST_EVENT_BYTES);
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

/** State of one condition, without its transition time, which `withTransitionTimes` adds. */
export interface ConditionState {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  /** CamelCase. */
  readonly reason: string;
  readonly message: string;
  /** True when a user has to act. */
  readonly needsAction: boolean;
}

/** Builds a true condition that needs no action. */
export const trueCondition = (type: string, reason: string, message: string): ConditionState => ({
  type,
  status: 'True',
  reason,
  message: cutMessage(message),
  needsAction: false,
});

/** Builds a false condition that needs action. */
export const failedCondition = (type: string, reason: string, message: string): ConditionState => ({
  ...trueCondition(type, reason, message),
  status: 'False',
  needsAction: true,
});

/** Builds a false condition that needs no action. */
export const falseCondition = (type: string, reason: string, message: string): ConditionState => ({
  ...failedCondition(type, reason, message),
  needsAction: false,
});

/** Builds a condition whose status is not known yet. */
export const unknownCondition = (type: string, reason: string, message: string): ConditionState => ({
  ...falseCondition(type, reason, message),
  status: 'Unknown',
});

/** Builds a condition that is a warning while it is true. */
export const warningCondition = (type: string, reason: string, message: string): ConditionState => ({
  ...trueCondition(type, reason, message),
  needsAction: true,
});

/** Builds a condition that is true without problems, and otherwise false with all of them in its message. */
export function validityCondition(
  type: string,
  good: { readonly reason: string; readonly message: string },
  problems: readonly ObjectProblem[],
  reasonOf: (problem: ObjectProblem) => string,
  self: Self,
): ConditionState {
  const [first] = ordered(problems, self);
  return first
    ? failedCondition(type, reasonOf(first), problemsMessage(problems, self))
    : trueCondition(type, good.reason, good.message);
}

/** Collects all warnings in one condition; empty without warnings. */
export const advisoryConditions = (warnings: readonly ObjectProblem[], self: Self): ConditionState[] =>
  warnings.length === 0 ? [] : [warningCondition('Advisory', 'ReviewAdvised', problemsMessage(warnings, self))];

/** Object whose status contains the message. */
export interface Self {
  readonly kind: string;
  readonly name: string;
}

const MAX_PROBLEMS = 20;
/** Longest condition message that the schema accepts. */
const MAX_BYTES = 32_768;

/** Renders a problem as `path: message [Reason]`, preceded by the object when it is not the object itself. */
export function problemText({ kind, name, path, message, reason }: ObjectProblem, self: Self): string {
  const place = kind === self.kind && name === self.name ? '' : `${kind}/${name}: `;
  return `${place}${path === '' ? '' : `${path}: `}${message} [${reason}]`;
}

/** Joins the problems in a stable order, those of the object itself first. */
export function problemsMessage(problems: readonly ObjectProblem[], self: Self): string {
  const texts = ordered(problems, self).map((problem) => problemText(problem, self));
  const more = texts.length - MAX_PROBLEMS;
  const shown = more > 0 ? [...texts.slice(0, MAX_PROBLEMS), `and ${String(more)} more`] : texts;
  return cutMessage(shown.join('; '));
}

/** Returns the distinct problems in a stable order, those of the object itself first. */
export function ordered(problems: readonly ObjectProblem[], self: Self): ObjectProblem[] {
  const isForeign = ({ kind, name }: ObjectProblem): number => Number(kind !== self.kind || name !== self.name);
  const key = ({ kind, name, path, reason, message }: ObjectProblem): string =>
    JSON.stringify([kind, name, path, reason, message]);
  return distinct(problems).toSorted((a, b) => isForeign(a) - isForeign(b) || compareText(key(a), key(b)));
}

/** Shortens a text to a number of bytes without splitting a character. */
export function cutMessage(text: string, maxBytes: number = MAX_BYTES): string {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length <= maxBytes) return text;
  const kept = new TextDecoder().decode(bytes.subarray(0, maxBytes - 3), { stream: true });
  return `${kept}…`;
}
