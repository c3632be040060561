import type { KubeObject } from '../../gateway/kube/resource.ts';
import { canRun, type ServerCheck } from '../resolve/objects.ts';
import { hasOwnGateway } from '../resolve/fields/controls.ts';
import { publicUrlOf } from '../resolve/incoming/incoming.ts';
import { virtualServerOf } from '../resolve/own-gateway.ts';
import { CONSEQUENCE_REASON, type ObjectProblem } from '../resolve/scope.ts';
import { serviceUrl } from '../resolve/backends/server-backend.ts';
import { replicasOf } from '../resolve/replicas.ts';
import type { MCPServer, Snapshot } from '../resolve/snapshot.ts';
import { appliedConditions, podTemplateCondition, workloadProblems } from './applied.ts';
import {
  advisoryConditions,
  failedCondition,
  falseCondition,
  validityCondition,
  warningCondition,
  type ConditionState,
  buildStatus,
  statusOf,
  type ObjectStatus,
  cutMessage,
  type Self,
} from './conditions.ts';
import { digest } from './same-status.ts';
import { INVALID, REFUSED } from './config-status.ts';
import {
  authConfigProblems,
  groupCondition,
  isAboutAuthRef,
  isAboutGroup,
  isAboutToolRef,
  toolConfigCondition,
} from './references.ts';
import { progressConditions } from './progress.ts';
import {
  rolloutOf,
  type Rollout,
  readyCondition,
  scaledBackConditions,
  scaleMembers,
  type ObservedWorkload,
} from './pods.ts';
import { controlConditions, isAboutControl, gatewayHashes } from './own-gateway.ts';
import { isAboutSessions, serverSessionsCondition, sessionStorageCondition } from './session-storage.ts';
import type { WorkloadInput } from './input.ts';

export interface MCPServerInput extends WorkloadInput {
  /** Absent for an object that was rejected. */
  readonly check?: ServerCheck;
}

export function mcpServerStatus({
  object,
  snapshot,
  refused = [],
  check: found = NOTHING,
  observed,
  now,
}: MCPServerInput): ObjectStatus {
  const self = { kind: object.kind, name: object.metadata.name };
  const server = snapshot.servers.get(self.name);
  const problems = [...refused, ...found.problems, ...observed.problems];
  const rollout = observed.workload && rolloutOf(observed.workload, observed.pods);
  const summary = summaryOf(object, problems, rollout, self);
  const isCurrent = server !== undefined && canRun(server, found);
  const advice = found.warnings.filter((warning) => !isAboutSessions(warning));
  const states = [
    summary.condition,
    ...(summary.phase === 'Terminating'
      ? []
      : progressConditions({ problems, ready: summary.condition, rollout, self })),
    validity([...refused, ...found.problems], server?.spec, self),
    ...(server ? conditionsFor(server, found, snapshot, { ...observed, rollout }, self) : []),
    ...appliedConditions({ problems: observed.problems, exists: rollout !== undefined, isCurrent }, self),
    ...scaledBackConditions(object, observed, found.gateway?.onePod),
    ...advisoryConditions(advice, self),
  ];
  return buildStatus(object, states, now, {
    ready: summary.condition.status === 'True' && problems.length === 0,
    phase: summary.phase,
    message: cutMessage(summary.condition.message, 1024),
    url: server ? serviceUrl(server, snapshot.namespace) : statusOf(object)['url'],
    publicUrl: server && isCurrent ? publicUrl(server, found, snapshot) : statusOf(object)['publicUrl'],
    ...scaleMembers('MCPServer', self.name, rollout),
    readyReplicas: rollout?.ready ?? 0,
    ...(server && digests(server, found, snapshot, object)),
  });
}

const NOTHING: ServerCheck = { problems: [], warnings: [] };

/** Returns the URL of clients outside of the cluster, which only a gateway of its own knows. */
const publicUrl = (server: MCPServer, { gateway }: ServerCheck, { namespace }: Snapshot): string | undefined =>
  publicUrlOf(gateway?.config?.oidc_config, serviceUrl(server, namespace));

/** Returns digests of the configs in use. */
function digests(server: MCPServer, check: ServerCheck, snapshot: Snapshot, object: KubeObject) {
  const { externalAuthConfigRef, toolConfigRef } = server.spec;
  const auth = externalAuthConfigRef && snapshot.externalAuthConfigs.get(externalAuthConfigRef.name);
  const tools = toolConfigRef && snapshot.toolConfigs.get(toolConfigRef.name);
  return {
    toolConfigHash: tools && digest(tools.spec),
    externalAuthConfigHash: auth && digest(auth.spec),
    ...gatewayHashes(server, check, snapshot, statusOf(object)),
  };
}

type Phase = 'Pending' | 'Ready' | 'Failed' | 'Terminating' | 'Stopped';

/** Returns the phase and `Ready`. Pods keep running beside problems, so `Ready` can be true in phase `Failed`. */
function summaryOf(
  object: KubeObject,
  problems: readonly ObjectProblem[],
  rollout: Rollout | undefined,
  self: Self,
): { readonly phase: Phase; readonly condition: ConditionState } {
  const condition = readiness(object, problems, rollout, self);
  if (object.metadata.deletionTimestamp !== undefined) return { phase: 'Terminating', condition };
  if (rollout?.desired === 0) return { phase: 'Stopped', condition };
  if (problems.length > 0) return { phase: problems.every(waitsForGroup) ? 'Pending' : 'Failed', condition };
  if (condition.status === 'True') return { phase: 'Ready', condition };
  return { phase: rollout?.failure ? 'Failed' : 'Pending', condition };
}

const waitsForGroup = (problem: ObjectProblem): boolean =>
  isAboutGroup(problem) && problem.reason === CONSEQUENCE_REASON;

function readiness(
  object: KubeObject,
  problems: readonly ObjectProblem[],
  rollout: Rollout | undefined,
  self: Self,
): ConditionState {
  if (object.metadata.deletionTimestamp !== undefined)
    return falseCondition('Ready', 'NotReady', 'the server is being deleted');
  if (!rollout) {
    if (problems.length > 0) return failedCondition('Ready', 'NotReady', workloadProblems(problems, self));
    return falseCondition('Ready', 'NotReady', 'its pods are not created yet');
  }
  return readyCondition(rollout, { ready: 'Ready', pending: 'NotReady', failed: 'NotReady' });
}

/** Builds `Valid` from the object's problems, without those of references that have conditions of their own. */
function validity(problems: readonly ObjectProblem[], spec: MCPServer['spec'] | undefined, self: Self): ConditionState {
  const hasOwnCondition = (problem: ObjectProblem): boolean =>
    isAboutGroup(problem) || isAboutAuthRef(problem) || isAboutToolRef(problem) || isAboutControl(problem, spec);
  const about = problems.filter((problem) => !hasOwnCondition(problem));
  const good = { reason: 'ValidationSucceeded', message: 'the spec is valid' };
  return validityCondition('Valid', good, about, () => REFUSED, self);
}

function conditionsFor(
  server: MCPServer,
  found: ServerCheck,
  snapshot: Snapshot,
  observed: ObservedWorkload & { readonly rollout: Rollout | undefined },
  self: Self,
): ConditionState[] {
  const { problems } = found;
  const { groupRef, externalAuthConfigRef, toolConfigRef, podTemplateSpec, transport = 'stdio' } = server.spec;
  const isStdio = transport === 'stdio';
  return [
    ...(groupRef ? [groupCondition(groupRef.name, problems, 'GroupRefIsValid', self)] : []),
    ...(externalAuthConfigRef ? [authCondition(externalAuthConfigRef.name, problems, snapshot, self)] : []),
    ...(toolConfigRef ? [toolConfigCondition(toolConfigRef.name, problems, snapshot, self)] : []),
    ...(podTemplateSpec
      ? [
          podTemplateCondition({
            type: 'PodTemplateValid',
            good: 'ValidPodTemplateSpec',
            patch: podTemplateSpec,
            object: { ...self, namespace: snapshot.namespace },
            problems: observed.problems,
            isRendered: canRun(server, found),
          }),
        ]
      : []),
    ...(isStdio ? [stdioCondition(replicasOf(server.spec) ?? 1)] : []),
    ...controlConditions(server.spec, problems, self),
    hasOwnGateway(server)
      ? sessionStorageCondition(virtualServerOf(server, snapshot).spec, observed.rollout)
      : serverSessionsCondition(server.spec, isStdio, observed.rollout),
  ];
}

/** Builds the condition for the credential. A false condition of the MCPExternalAuthConfig passes on its reason. */
function authCondition(
  name: string,
  problems: readonly ObjectProblem[],
  snapshot: Snapshot,
  self: Self,
): ConditionState {
  const about = [...problems.filter(isAboutAuthRef), ...authConfigProblems(name, snapshot)];
  const good = { reason: 'ValidationSucceeded', message: `MCPExternalAuthConfig "${name}" can be used` };
  const reasonOf = ({ kind, reason }: ObjectProblem): string => {
    if (kind !== self.kind) return INVALID;
    return reason === CONSEQUENCE_REASON ? REFUSED : reason;
  };
  return validityCondition('ExternalAuthConfigValidated', good, about, reasonOf, self);
}

function stdioCondition(replicas: number): ConditionState {
  const type = 'StdioReplicaCapped';
  if (replicas <= 1) return falseCondition(type, 'StdioReplicaCapNotActive', 'at most one pod is configured');
  const message = `a stdio server runs in one pod, not in ${String(replicas)}: set spec.replicas: 1`;
  return warningCondition(type, 'StdioTransportCapAt1', message);
}
