import { type ObjectProblem, endpointOf } from '../resolve/scope.ts';
import { publicUrlOf } from '../resolve/incoming/incoming.ts';
import type { Resolution } from '../resolve/vmcp.ts';
import {
  backendHealth,
  backendsHealthyCondition,
  runtimeProblems,
  type BackendHealth,
} from './virtual-mcp-server/backend-health.ts';
import {
  type ConditionState,
  failedCondition,
  falseCondition,
  buildStatus,
  statusOf,
  type ObjectStatus,
  cutMessage,
  problemsMessage,
  type Self,
} from './conditions.ts';
import { digest } from './same-status.ts';
import { externalAuthHashes } from './virtual-mcp-server/outgoing-auth.ts';
import { rowsOf } from './virtual-mcp-server/problem-table.ts';
import { progressConditions } from './progress.ts';
import { rolloutOf, type Rollout, SCALED_TO_ZERO, scaledBackConditions, scaleMembers, readyCondition } from './pods.ts';
import { fieldConditions } from './virtual-mcp-server/conditions.ts';
import type { WorkloadInput } from './input.ts';
import type { VirtualMCPServer } from '../resolve/snapshot.ts';
import { workloadProblems } from './applied.ts';

export interface VirtualMCPServerInput extends WorkloadInput {
  /** Absent for an object that was rejected. */
  readonly resolution?: Resolution;
  /** True where the API server has HTTPRoutes of the Gateway API. */
  readonly servesRoutes?: boolean;
}

/** Builds the status. Pods keep running beside problems: `Ready` describes the pods, the phase the whole object. */
export function virtualMCPServerStatus(input: VirtualMCPServerInput): ObjectStatus {
  const { object, snapshot, refused = [], resolution, observed, now } = input;
  const self = { kind: object.kind, name: object.metadata.name };
  const vmcp = snapshot.vmcps.get(self.name);
  const problems = [...refused, ...(resolution?.problems ?? []), ...observed.problems];
  const served = resolution?.config?.vmcp.backends.map(({ name }) => name);
  const health = backendHealth(object, served);
  const rollout = observed.workload && rolloutOf(observed.workload, observed.pods);
  const ready = readiness({
    problems,
    rollout,
    health,
    excluded: resolution?.excluded.length ?? 0,
    isPartialFailureFatal: isPartialFailureFatal(vmcp),
    self,
  });
  const states = [
    ready,
    ...progressConditions({ problems, ready, rollout, self }),
    backendsHealthyCondition(health),
    ...fieldConditions({ ...input, vmcp, self, runtime: runtimeProblems(object), rollout }),
    ...scaledBackConditions(object, observed, resolution?.onePod),
  ];
  const phase = phaseOf(problems, ready, health, resolution?.excluded.length ?? 0);
  return buildStatus(object, states, now, {
    ready: ready.status === 'True' && phase !== 'Failed' && phase !== 'Pending',
    phase,
    message: summary(problems, states, ready, self),
    ...urlsOf(input, endpointOf(self.name, snapshot.namespace)),
    ...scaleMembers('VirtualMCPServer', self.name, rollout),
    ...digests(input),
  });
}

/** Returns the URLs of clients. Pods that keep running beside problems keep theirs. */
function urlsOf({ object, resolution, observed }: VirtualMCPServerInput, url: string) {
  if (resolution?.config) return { url, publicUrl: publicUrlOf(resolution.config.oidc_config, url) };
  return observed.workload ? { url, publicUrl: statusOf(object)['publicUrl'] } : {};
}

type Phase = 'Pending' | 'Ready' | 'Degraded' | 'Failed' | 'Stopped';

function phaseOf(
  problems: readonly ObjectProblem[],
  ready: ConditionState,
  health: BackendHealth,
  excluded: number,
): Phase {
  if (problems.length > 0) return problems.every(waitsForGroup) ? 'Pending' : 'Failed';
  switch (ready.reason) {
    case 'DeploymentFailed':
      return 'Failed';
    case 'DeploymentNotReady':
    case 'BackendsUnknown':
      return 'Pending';
    case SCALED_TO_ZERO:
      return 'Stopped';
    default:
      return ready.status === 'False' || health.unhealthy.length > 0 || excluded > 0 ? 'Degraded' : 'Ready';
  }
}

const waitsForGroup = (problem: ObjectProblem): boolean =>
  rowsOf(problem).some(({ reason }) => reason === 'GroupRefNotReady');

/** Returns the problems to correct or, without any, the progress of the pods and the state of the backends. */
function summary(
  problems: readonly ObjectProblem[],
  states: readonly ConditionState[],
  ready: ConditionState,
  self: Self,
): string {
  if (problems.length > 0) return cutMessage(problemsMessage(problems, self), LONGEST_SUMMARY);
  const wrong = states.filter(({ type, status }) => ABOUT_BACKENDS.has(type) && status === 'False');
  return cutMessage([ready, ...wrong].map(({ message }) => message).join('; '), LONGEST_SUMMARY);
}

const LONGEST_SUMMARY = 1024;
const ABOUT_BACKENDS: ReadonlySet<string> = new Set(['BackendsDiscovered', 'BackendsHealthy']);

/** Returns digests of the pods' inputs. An invalid spec keeps the previous digests, as the pods do. */
function digests({ object, snapshot, resolution }: VirtualMCPServerInput): Readonly<Record<string, unknown>> {
  const live = statusOf(object);
  const { config, mounts = [] } = resolution ?? {};
  const vmcp = snapshot.vmcps.get(object.metadata.name);
  if (!config || !vmcp) {
    const { oidcConfigHash, authzConfigHash, telemetryConfigHash, webhookConfigHash } = live;
    const { externalAuthHashes: hashes, secretHash } = live;
    const shared = { oidcConfigHash, authzConfigHash, telemetryConfigHash, webhookConfigHash };
    return { ...shared, externalAuthHashes: hashes, secretHash };
  }
  const shared = snapshot.oidcConfigs.get(vmcp.spec.incomingAuth.oidcConfigRef?.name ?? '');
  const telemetry = snapshot.telemetryConfigs.get(vmcp.spec.telemetryConfigRef?.name ?? '');
  const webhooks = snapshot.webhookConfigs.get(vmcp.spec.webhookConfigRef?.name ?? '');
  const versions = mounts.flatMap(({ kind, name }) => {
    const version = kind === 'Secret' ? snapshot.secrets.get(name)?.version : undefined;
    return version === undefined ? [] : [[name, version] as const];
  });
  const names = config.vmcp.backends.map(({ name }) => name);
  return {
    oidcConfigHash: shared && digest(shared.spec),
    authzConfigHash: config.authz_config && digest(config.authz_config),
    telemetryConfigHash: telemetry && digest(telemetry.spec),
    webhookConfigHash: webhooks && digest(webhooks.spec),
    externalAuthHashes: externalAuthHashes(vmcp, snapshot, names),
    secretHash: versions.length > 0 ? digest(Object.fromEntries(versions)) : undefined,
  };
}

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
const isPartialFailureFatal = (vmcp: VirtualMCPServer | undefined): boolean =>
  vmcp?.spec.config?.operational?.failureHandling?.partialFailureMode === 'fail';

/** Builds `Ready`: true while some backends work, unless `partialFailureMode` is `fail`. */
function readiness({ problems, rollout, health, excluded, isPartialFailureFatal, self }: Facts): ConditionState {
  if (!rollout) {
    if (problems.length === 0) return falseCondition('Ready', REASONS.pending, 'its pods are not created yet');
    return failedCondition('Ready', reasonWithoutPods(problems), workloadProblems(problems, self));
  }
  const pods = readyCondition(rollout, REASONS);
  if (pods.status === 'False' || pods.reason === SCALED_TO_ZERO) return pods;
  const { served, reported, working, unhealthy, unknown } = health;
  const names = unhealthy.join(', ');
  const withPods = (text: string): string => cutMessage(`${pods.message}; ${text}`);
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
