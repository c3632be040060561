import { CONSEQUENCE_REASON, type ObjectProblem } from '../resolve/scope.ts';
import { trueCondition, type ConditionState, problemsMessage, type Self } from './conditions.ts';
import type { Rollout } from './pods.ts';

/** Facts about an object that decide whether tools continue to wait for it. */
interface Progress {
  /** All problems that prevent the current spec from acting. */
  readonly problems: readonly ObjectProblem[];
  readonly ready: ConditionState;
  /** Absent for kinds without pods, and until the pods are created. */
  readonly rollout?: Rollout | undefined;
  readonly self: Self;
}

/** Reasons of problems of the object itself that end when something else in the cluster changes. */
const WAITING: ReadonlySet<string> = new Set([
  CONSEQUENCE_REASON,
  'ApplyForbidden',
  'CABundleRefInvalid',
  'GroupRefNotReady',
  'NameTaken',
  'QuotaExceeded',
  'RBACForbidden',
]);

/** Returns true for a problem in the content of a ConfigMap. */
const isInConfigMap = ({ path, reason }: ObjectProblem): boolean =>
  reason === 'AuthzInvalid' && /\.configMap\b/u.test(path);

/**
 * Returns true for a problem that only an edit of the object can solve: waiting tools then fail at once. A problem of another
 * object does not count, because the tool may create or correct that object in the same run.
 */
const needsEdit = (problem: ObjectProblem, self: Self): boolean => {
  const { kind, name, reason } = problem;
  if (kind !== self.kind || name !== self.name) return false;
  return !WAITING.has(reason) && !/NotFound$/u.test(reason) && !isInConfigMap(problem);
};

/**
 * Builds `Stalled` or `Reconciling`, from which kstatus derives the progress of an object. Never builds both,
 * and builds nothing once the current spec acts: tools read the first that is true.
 */
export function progressConditions({ problems, ready, rollout, self }: Progress): ConditionState[] {
  const final = problems.filter((problem) => needsEdit(problem, self));
  if (final.length > 0) return [trueCondition('Stalled', 'EditRequired', problemsMessage(final, self))];
  if (rollout?.stalled) return [trueCondition('Stalled', 'RolloutFailed', rollout.stalled)];
  if (problems.length > 0) return [reconciling('DependencyNotReady', problemsMessage(problems, self))];
  if (ready.status !== 'True') return [reconciling('NotReady', ready.message)];
  if (rollout && !rollout.isComplete) {
    return [
      reconciling('RolloutInProgress', 'pods of the current spec are starting, or pods of an earlier one are ending'),
    ];
  }
  return [];
}

export const reconciling = (reason: string, message: string): ConditionState =>
  trueCondition('Reconciling', reason, message);

/** Builds `Ready` and the progress of an object without pods: it is ready while it is valid. */
export function readinessWithoutPods(
  { status, reason, message }: ConditionState,
  problems: readonly ObjectProblem[],
  self: Self,
): ConditionState[] {
  const ready = { ...trueCondition('Ready', reason, message), status };
  return [ready, ...progressConditions({ problems, ready, self })];
}
