import type { ObjectProblem } from '../../resolve/problems.ts';
import type { VirtualMCPServer } from '../../resolve/snapshot.ts';
import type { BackendHealth } from './backend-health.ts';
import { workloadProblems } from '../applied.ts';
import { fails, pends, type Claim } from '../claim.ts';
import { cut, type Self } from '../message.ts';
import { rowsOf } from './problem-table.ts';
import type { Rollout } from '../rollout.ts';
import { readyClaim } from '../workload.ts';

interface Facts {
  readonly problems: readonly ObjectProblem[];
  readonly rollout: Rollout | undefined;
  readonly health: BackendHealth;
  /** Members of the group that are left out. */
  readonly excluded: number;
  readonly failsAsAWhole: boolean;
  readonly self: Self;
}

const REASONS = { ready: 'DeploymentReady', pending: 'DeploymentNotReady', failed: 'DeploymentFailed' };

/** Lists answer an error while a backend is unavailable. */
export const isPartialFailureFatal = (vmcp: VirtualMCPServer | undefined): boolean =>
  vmcp?.spec.config?.operational?.failureHandling?.partialFailureMode === 'fail';

/** Whether clients are served: true while some backends work, unless the spec says that one failing fails all. */
export function readiness({ problems, rollout, health, excluded, failsAsAWhole, self }: Facts): Claim {
  if (!rollout) {
    if (problems.length === 0) return pends('Ready', REASONS.pending, 'its pods are about to be made');
    return fails('Ready', reasonWithoutPods(problems), workloadProblems(problems, self));
  }
  const pods = readyClaim(rollout, REASONS);
  if (pods.status === 'False') return pods;
  const { served, reported, working, ailing, unknown } = health;
  const names = ailing.join(', ');
  const because = (text: string): string => cut(`${pods.message}; ${text}`);
  if (served === 0 && excluded > 0) {
    return fails('Ready', 'BackendsUnavailable', because('every member of the group is left out'));
  }
  if (reported === 0 || ailing.length === 0) return pods;
  if (unknown) return pends('Ready', 'BackendsUnknown', because('no backend was probed yet'));
  if (working === 0) return fails('Ready', 'BackendsUnavailable', because(`calls reach no backend: ${names}`));
  if (failsAsAWhole) {
    return fails(
      'Ready',
      'BackendsDegraded',
      because(`partialFailureMode is fail, and not every backend is well: ${names}`),
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
