import type { KubeObject } from '../../gateway/kube/resource.ts';
import { CLUSTER_PLATFORM } from '../render/options.ts';
import { checkMCPServer, mayRun, type Findings } from '../resolve/objects.ts';
import { CONSEQUENCE_REASON, type ObjectProblem } from '../resolve/problems.ts';
import { serviceUrl } from '../resolve/backends/server-backend.ts';
import type { MCPServer, Snapshot } from '../resolve/snapshot.ts';
import { appliedClaims, podTemplateClaim, workloadProblems } from './applied.ts';
import { adviceClaims, fails, pends, verdict, warns, type Claim } from './claim.ts';
import { concludeStatus, statusOf, type ObjectStatus } from './conditions.ts';
import { digest } from './digest.ts';
import { INVALID, REFUSED } from './mcp-external-auth-config.ts';
import { cut, type Self } from './message.ts';
import { authConfigProblems, groupClaim, isAboutAuthRef, isAboutGroup } from './references.ts';
import { rolloutOf, type Rollout } from './rollout.ts';
import { sessionStorageClaim } from './session-storage.ts';
import { readyClaim, type ObservedWorkload } from './workload.ts';
import type { WorkloadInput } from './input.ts';

export function mcpServerStatus({ object, snapshot, refused = [], observed, now }: WorkloadInput): ObjectStatus {
  const self = { kind: object.kind, name: object.metadata.name };
  const server = snapshot.servers.get(self.name);
  const found = server ? checkMCPServer(server, snapshot, CLUSTER_PLATFORM) : { problems: [], warnings: [] };
  const problems = [...refused, ...found.problems, ...observed.problems];
  const rollout = observed.workload && rolloutOf(observed.workload, observed.pods);
  const summary = summaryOf(object, problems, rollout, self);
  const claims = [
    summary.claim,
    validity([...refused, ...found.problems], self),
    ...(server ? claimsOf(server, found, snapshot, observed, self) : []),
    ...appliedClaims(
      {
        problems: observed.problems,
        isThere: observed.workload !== undefined,
        isCurrent: server !== undefined && mayRun(server, found),
      },
      self,
    ),
    ...adviceClaims(found.warnings, self),
  ];
  const auth =
    server?.spec.externalAuthConfigRef && snapshot.externalAuthConfigs.get(server.spec.externalAuthConfigRef.name);
  return concludeStatus(object, claims, now, {
    ready: summary.claim.status === 'True' && problems.length === 0,
    phase: summary.phase,
    message: cut(summary.claim.message, 1024),
    url: server ? serviceUrl(server, snapshot.namespace) : statusOf(object)['url'],
    readyReplicas: rollout?.ready ?? 0,
    externalAuthConfigHash: auth && digest(auth.spec),
  });
}

type Phase = 'Pending' | 'Ready' | 'Failed' | 'Terminating' | 'Stopped';

/** Pods that run go on while something else is wrong; then the phase is what tells. */
function summaryOf(
  object: KubeObject,
  problems: readonly ObjectProblem[],
  rollout: Rollout | undefined,
  self: Self,
): { readonly phase: Phase; readonly claim: Claim } {
  const claim = readiness(object, problems, rollout, self);
  if (object.metadata.deletionTimestamp !== undefined) return { phase: 'Terminating', claim };
  if (rollout?.desired === 0) return { phase: 'Stopped', claim };
  if (problems.length > 0) return { phase: problems.every(waitsForGroup) ? 'Pending' : 'Failed', claim };
  if (claim.status === 'True') return { phase: 'Ready', claim };
  return { phase: rollout?.failure ? 'Failed' : 'Pending', claim };
}

const waitsForGroup = (problem: ObjectProblem): boolean =>
  isAboutGroup(problem) && problem.reason === CONSEQUENCE_REASON;

function readiness(
  object: KubeObject,
  problems: readonly ObjectProblem[],
  rollout: Rollout | undefined,
  self: Self,
): Claim {
  if (object.metadata.deletionTimestamp !== undefined) return pends('Ready', 'NotReady', 'it is being deleted');
  if (!rollout) {
    if (problems.length > 0) return fails('Ready', 'NotReady', workloadProblems(problems, self));
    return pends('Ready', 'NotReady', 'its pods are about to be made');
  }
  return readyClaim(rollout, { ready: 'Ready', pending: 'NotReady', failed: 'NotReady' });
}

/** What is wrong with the object itself, the references that have conditions of their own aside. */
function validity(problems: readonly ObjectProblem[], self: Self): Claim {
  const about = problems.filter((problem) => !isAboutGroup(problem) && !isAboutAuthRef(problem));
  const good = { reason: 'ValidationSucceeded', message: 'the spec is right' };
  return verdict('Valid', good, about, () => REFUSED, self);
}

function claimsOf(
  server: MCPServer,
  found: Findings,
  snapshot: Snapshot,
  observed: ObservedWorkload,
  self: Self,
): Claim[] {
  const { problems } = found;
  const { groupRef, externalAuthConfigRef, podTemplateSpec, transport = 'stdio' } = server.spec;
  const isStdio = transport === 'stdio';
  return [
    ...(groupRef ? [groupClaim(groupRef.name, problems, 'GroupRefIsValid', self)] : []),
    ...(externalAuthConfigRef ? [authClaim(externalAuthConfigRef.name, problems, snapshot, self)] : []),
    ...(podTemplateSpec
      ? [
          podTemplateClaim({
            type: 'PodTemplateValid',
            good: 'ValidPodTemplateSpec',
            patch: podTemplateSpec,
            object: { ...self, namespace: snapshot.namespace },
            problems: observed.problems,
            isRendered: mayRun(server, found),
          }),
        ]
      : []),
    ...(isStdio ? [stdioClaim(server.spec.replicas ?? 1)] : []),
    sessionStorageClaim(server.spec, isStdio),
  ];
}

/** The reason is that of the MCPExternalAuthConfig's own condition where that one is false. */
function authClaim(name: string, problems: readonly ObjectProblem[], snapshot: Snapshot, self: Self): Claim {
  const about = [...problems.filter(isAboutAuthRef), ...authConfigProblems(name, snapshot)];
  const good = { reason: 'ValidationSucceeded', message: `MCPExternalAuthConfig "${name}" can be used` };
  const reasonOf = ({ kind, reason }: ObjectProblem): string => {
    if (kind !== self.kind) return INVALID;
    return reason === CONSEQUENCE_REASON ? REFUSED : reason;
  };
  return verdict('ExternalAuthConfigValidated', good, about, reasonOf, self);
}

function stdioClaim(replicas: number): Claim {
  const type = 'StdioReplicaCapped';
  if (replicas <= 1) return pends(type, 'StdioReplicaCapNotActive', 'at most one pod is asked for');
  const message = `a stdio server runs in one pod, whatever spec.replicas says (${String(replicas)}): set spec.replicas: 1`;
  return warns(type, 'StdioTransportCapAt1', message);
}
