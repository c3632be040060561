import type { ObjectProblem } from '../resolve/problems.ts';
import { cut, ordered, problemsMessage, type Self } from './message.ts';

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
  message: cut(message),
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

/** Collects all warnings in one condition; empty when there are none. */
export const advisoryConditions = (warnings: readonly ObjectProblem[], self: Self): ConditionState[] =>
  warnings.length === 0 ? [] : [warningCondition('Advisory', 'ReviewAdvised', problemsMessage(warnings, self))];
