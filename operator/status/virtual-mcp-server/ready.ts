import type { ObjectProblem } from '../../resolve/problems.ts';
import type { VirtualMCPServer } from '../../resolve/snapshot.ts';
import type { BackendHealth } from './backend-health.ts';
import { workloadProblems } from '../applied.ts';
import { failedCondition, falseCondition, type ConditionState } from '../condition-state.ts';
import { cut, type Self } from '../message.ts';
import { rowsOf } from './problem-table.ts';
import type { Rollout } from '../pods/rollout.ts';
import { readyCondition, SCALED_TO_ZERO } from '../pods/workload.ts';

interface Facts {
  readonly problems: readonly ObjectProblem[];
  readonly rollout: Rollout | undefined;
  readonly health: BackendHealth;
  /** Number of excluded members. */
  readonly excluded: number;
  readonly isPartialFailureFatal: boolean;
  readonly self: Self;
}

const REASONS = { ready: 'DeploymentReady', pending: 'DeploymentNotReady', failed: 'DeploymentFailed' };

/** Returns true for `partialFailureMode: fail`: lists then return an error while a backend is unavailable. */
export const isPartialFailureFatal = (vmcp: VirtualMCPServer | undefined): boolean =>
  vmcp?.spec.config?.operational?.failureHandling?.partialFailureMode === 'fail';

/** Builds `Ready`: true while some backends work, unless `partialFailureMode` is `fail`. */
export function readiness({ problems, rollout, health, excluded, isPartialFailureFatal, self }: Facts): ConditionState {
  if (!rollout) {
    if (problems.length === 0) return falseCondition('Ready', REASONS.pending, 'its pods are not created yet');
    return failedCondition('Ready', reasonWithoutPods(problems), workloadProblems(problems, self));
  }
  const pods = readyCondition(rollout, REASONS);
  if (pods.status === 'False' || pods.reason === SCALED_TO_ZERO) return pods;
  const { served, reported, working, unhealthy, unknown } = health;
  const names = unhealthy.join(', ');
  const withPods = (text: string): string => cut(`${pods.message}; ${text}`);
  if (served === 0 && excluded > 0) {
    return failedCondition('Ready', 'BackendsUnavailable', withPods('every member of the group is excluded'));
  }
  if (reported === 0 || unhealthy.length === 0) return pods;
  if (unknown) return falseCondition('Ready', 'BackendsUnknown', withPods('no backend has been probed yet'));
  if (working === 0)
    return failedCondition('Ready', 'BackendsUnavailable', withPods(`no backend can be called: ${names}`));
  if (isPartialFailureFatal) {
    return failedCondition(
      'Ready',
      'BackendsDegraded',
      withPods(`partialFailureMode is fail, and some backends are not healthy: ${names}`),
    );
  }
  return pods;
}

function reasonWithoutPods(problems: readonly ObjectProblem[]): string {
  const isAuthServer = problems.some((problem) =>
    rowsOf(problem).some(({ type }) => type === 'AuthServerConfigValidated'),
  );
  return isAuthServer ? 'AuthServerConfigInvalid' : REASONS.pending;
}
