import type { ObjectProblem } from '../resolve/problems.ts';
import type { Resolution } from '../resolve/vmcp.ts';
import {
  backendHealth,
  backendsHealthyClaim,
  runtimeProblems,
  type BackendHealth,
} from './virtual-mcp-server/backend-health.ts';
import type { Claim } from './claim.ts';
import { concludeStatus, statusOf, type ObjectStatus } from './conditions.ts';
import { digest } from './digest.ts';
import { cut, problemsMessage, type Self } from './message.ts';
import { externalAuthHashes } from './virtual-mcp-server/outgoing-auth.ts';
import { rowsOf } from './virtual-mcp-server/problem-table.ts';
import { rolloutOf } from './rollout.ts';
import { isPartialFailureFatal, readiness } from './virtual-mcp-server/ready.ts';
import { fieldClaims } from './virtual-mcp-server/claims.ts';
import type { WorkloadInput } from './input.ts';

export interface VirtualMCPServerInput extends WorkloadInput {
  /** Absent for an object that was refused. */
  readonly resolution?: Resolution;
}

/** Whatever is wrong, the pods that run go on; `Ready` is about them, the phase about the object as a whole. */
export function virtualMCPServerStatus(input: VirtualMCPServerInput): ObjectStatus {
  const { object, snapshot, refused = [], resolution, observed, now } = input;
  const self = { kind: object.kind, name: object.metadata.name };
  const vmcp = snapshot.vmcps.get(self.name);
  const problems = [...refused, ...(resolution?.problems ?? []), ...observed.problems];
  const served = resolution?.config?.vmcp.backends.map(({ name }) => name);
  const health = backendHealth(object, served);
  const ready = readiness({
    problems,
    rollout: observed.workload && rolloutOf(observed.workload, observed.pods),
    health,
    excluded: resolution?.excluded.length ?? 0,
    failsAsAWhole: isPartialFailureFatal(vmcp),
    self,
  });
  const claims = [
    ready,
    backendsHealthyClaim(health),
    ...fieldClaims({ ...input, vmcp, self, runtime: runtimeProblems(object) }),
  ];
  const phase = phaseOf(problems, ready, health, resolution?.excluded.length ?? 0);
  return concludeStatus(object, claims, now, {
    ready: ready.status === 'True' && phase !== 'Failed' && phase !== 'Pending',
    phase,
    message: summary(problems, claims, ready, self),
    ...(resolution?.config || observed.workload ? { url: urlOf(self.name, snapshot.namespace) } : {}),
    ...digests(input),
  });
}

type Phase = 'Pending' | 'Ready' | 'Degraded' | 'Failed';

function phaseOf(problems: readonly ObjectProblem[], ready: Claim, health: BackendHealth, excluded: number): Phase {
  if (problems.length > 0) return problems.every(waitsForGroup) ? 'Pending' : 'Failed';
  switch (ready.reason) {
    case 'DeploymentFailed':
      return 'Failed';
    case 'DeploymentNotReady':
    case 'BackendsUnknown':
      return 'Pending';
    default:
      return ready.status === 'False' || health.ailing.length > 0 || excluded > 0 ? 'Degraded' : 'Ready';
  }
}

const waitsForGroup = (problem: ObjectProblem): boolean =>
  rowsOf(problem).some(({ reason }) => reason === 'GroupRefNotReady');

/** What somebody has to do, else how far the pods are. */
function summary(problems: readonly ObjectProblem[], claims: readonly Claim[], ready: Claim, self: Self): string {
  if (problems.length > 0) return cut(problemsMessage(problems, self), LONGEST_SUMMARY);
  const wrong = claims.filter(({ type, status }) => ABOUT_BACKENDS.has(type) && status === 'False');
  return cut([ready, ...wrong].map(({ message }) => message).join('; '), LONGEST_SUMMARY);
}

const LONGEST_SUMMARY = 1024;
const ABOUT_BACKENDS: ReadonlySet<string> = new Set(['BackendsDiscovered', 'BackendsHealthy']);

const urlOf = (name: string, namespace: string): string =>
  `http://vmcp-${name}.${namespace}.svc.cluster.local:4483/mcp`;

/** What the pods were given; while the spec is wrong they go on with what they had. */
function digests({ object, snapshot, resolution }: VirtualMCPServerInput): Readonly<Record<string, unknown>> {
  const live = statusOf(object);
  const { config, mounts = [] } = resolution ?? {};
  const vmcp = snapshot.vmcps.get(object.metadata.name);
  if (!config || !vmcp) {
    const { oidcConfigHash, externalAuthHashes: hashes, secretHash } = live;
    return { oidcConfigHash, externalAuthHashes: hashes, secretHash };
  }
  const shared = snapshot.oidcConfigs.get(vmcp.spec.incomingAuth.oidcConfigRef?.name ?? '');
  const versions = mounts.flatMap(({ kind, name }) => {
    const version = kind === 'Secret' ? snapshot.secrets.get(name)?.version : undefined;
    return version === undefined ? [] : [[name, version] as const];
  });
  const names = config.vmcp.backends.map(({ name }) => name);
  return {
    oidcConfigHash: shared && digest(shared.spec),
    externalAuthHashes: externalAuthHashes(vmcp, snapshot, names),
    secretHash: versions.length > 0 ? digest(Object.fromEntries(versions)) : undefined,
  };
}
