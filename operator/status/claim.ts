import type { ObjectProblem } from '../resolve/problems.ts';
import { cut, ordered, problemsMessage, type Self } from './message.ts';

/** What is said about an object now; when it began to be so follows from what was said before. */
export interface Claim {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  /** CamelCase. */
  readonly reason: string;
  readonly message: string;
  /** Whether somebody has to act. */
  readonly alarming: boolean;
}

export const holds = (type: string, reason: string, message: string): Claim => ({
  type,
  status: 'True',
  reason,
  message: cut(message),
  alarming: false,
});

export const fails = (type: string, reason: string, message: string): Claim => ({
  ...holds(type, reason, message),
  status: 'False',
  alarming: true,
});

/** Not so, and nobody has to act. */
export const pends = (type: string, reason: string, message: string): Claim => ({
  ...fails(type, reason, message),
  alarming: false,
});

export const isOpen = (type: string, reason: string, message: string): Claim => ({
  ...pends(type, reason, message),
  status: 'Unknown',
});

/** A claim that warns while it is true. */
export const warns = (type: string, reason: string, message: string): Claim => ({
  ...holds(type, reason, message),
  alarming: true,
});

/** True, or false with every problem in the message. `reasonOf` says which of its reasons a problem gives a condition. */
export function verdict(
  type: string,
  good: { readonly reason: string; readonly message: string },
  problems: readonly ObjectProblem[],
  reasonOf: (problem: ObjectProblem) => string,
  self: Self,
): Claim {
  const [first] = ordered(problems, self);
  return first ? fails(type, reasonOf(first), problemsMessage(problems, self)) : holds(type, good.reason, good.message);
}

/** Collects all warnings in one condition; empty when there are none. */
export const adviceClaims = (warnings: readonly ObjectProblem[], self: Self): Claim[] =>
  warnings.length === 0 ? [] : [warns('Advisory', 'ReviewAdvised', problemsMessage(warnings, self))];
