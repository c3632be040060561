import type { KubeObject } from '../../../gateway/kube/resource.ts';
import { validateObject, withDefaults } from '../../../crds/kinds/validate.ts';
import { CLUSTER_PLATFORM } from '../../render/options.ts';
import { checkMCPServer } from '../../resolve/objects.ts';
import type { ObjectProblem } from '../../resolve/scope.ts';
import { newSnapshot, type BrokenObject, type Resource, type Snapshot } from '../../resolve/snapshot.ts';
import { resolve } from '../../resolve/vmcp.ts';
import {
  mcpServerEntryStatus,
  mcpServerStatus,
  SHARED_STATUSES,
  virtualMCPServerStatus,
  type ObjectStatus,
  type ObservedWorkload,
} from '../index.ts';

export const NOW = '2026-11-22T05:00:00Z';

type Spec = Readonly<Record<string, unknown>>;

/** Returns an object as the API server has it. */
export const live = (kind: string, name: string, spec: Spec = {}, rest: object = {}): KubeObject =>
  withDefaults(kind, {
    apiVersion: 'vmcp.dev/v1alpha1',
    kind,
    metadata: { name, namespace: 'team', generation: 3, ...(rest as { metadata?: object }).metadata },
    spec,
    ...('status' in rest && { status: rest.status }),
  });

/** Input of a case: the objects, and the observations about the first one. */
export interface Case {
  readonly objects: readonly KubeObject[];
  readonly secrets?: Readonly<Record<string, readonly string[]>>;
  readonly configMaps?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly observed?: ObservedWorkload;
  readonly servesRoutes?: boolean;
  readonly referencedBy?: readonly string[];
  readonly now?: string;
}

/** Returns the namespace's snapshot. Objects that the schema rejects are broken. */
export function snapshotOf({ objects, secrets = {}, configMaps = {} }: Case): Snapshot {
  const refused = objects.filter((object) => refusals(object).length > 0);
  return newSnapshot('team', {
    resources: objects.filter((object) => !refused.includes(object)) as unknown as Resource[],
    broken: refused.map(({ kind, metadata: { name }, spec }): BrokenObject => {
      const group = (spec as { groupRef?: { name?: string } }).groupRef?.name;
      return { kind, name, ...(group !== undefined && { group }) };
    }),
    secrets: Object.entries(secrets).map(([name, keys]) => ({ name, keys, version: '7' })),
    configMaps: Object.entries(configMaps).map(([name, data]) => ({ name, data })),
  });
}

const refusals = (object: KubeObject): ObjectProblem[] =>
  validateObject(object.kind, object).map((problem) => ({
    kind: object.kind,
    namespace: 'team',
    name: object.metadata.name,
    ...problem,
  }));

/** Returns the status of the first object of a case. */
export function statusFor(input: Case): ObjectStatus {
  const [object] = input.objects;
  if (!object) throw new Error('a case needs an object');
  const snapshot = snapshotOf(input);
  const base = { object, snapshot, refused: refusals(object), now: input.now ?? NOW };
  const observed = input.observed ?? { problems: [] };
  const deletion = { referencedBy: input.referencedBy ?? [], deleting: object.metadata.deletionTimestamp !== undefined };
  switch (object.kind) {
    case 'VirtualMCPServer': {
      const vmcp = snapshot.vmcps.get(object.metadata.name);
      const resolution = vmcp && resolve(vmcp, snapshot, CLUSTER_PLATFORM);
      return virtualMCPServerStatus({ ...base, observed, servesRoutes: input.servesRoutes === true, ...(resolution && { resolution }) });
    }
    case 'MCPServer': {
      const server = snapshot.servers.get(object.metadata.name);
      const check = server && checkMCPServer(server, snapshot, CLUSTER_PLATFORM);
      return mcpServerStatus({ ...base, observed, ...(check && { check }) });
    }
    case 'MCPServerEntry':
      return mcpServerEntryStatus(base);
    default: {
      const sharedStatus = SHARED_STATUSES[object.kind];
      if (!sharedStatus) throw new Error(`no status for kind ${object.kind}`);
      return sharedStatus({ ...base, deletion });
    }
  }
}

/** Returns a Deployment with a number of ready pods. */
export const workload = (ready: number, desired = 1, conditions: readonly object[] = []): KubeObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'x', namespace: 'team' },
  spec: { replicas: desired },
  status: {
    observedGeneration: 1,
    replicas: Math.max(ready, desired),
    updatedReplicas: desired,
    readyReplicas: ready,
    availableReplicas: ready,
    conditions,
  },
});

/** Returns a workload whose pods have an earlier template. */
export const replacing = (object: KubeObject): KubeObject => ({
  ...object,
  status: { ...(object['status'] as object), updatedReplicas: 0 },
});

export const pod = (status: object): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'x-1', namespace: 'team' },
  status,
});

export const waiting = (container: string, reason: string, message?: string): KubeObject =>
  pod({ containerStatuses: [{ name: container, state: { waiting: { reason, ...(message && { message }) } } }] });
