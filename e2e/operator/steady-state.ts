import { isDeepStrictEqual } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ControlPlaneAddress } from '../harness/control-plane/control-plane.ts';
import type { ClusterApi } from '../harness/control-plane/api.ts';
import { eventually } from '../harness/poll.ts';
import { auditMark, auditSince, lineOf, writesOf } from './audit.ts';
import { at, placeOf, type Playground } from './playground.ts';

const WATCHED = [
  'VirtualMCPServer',
  'MCPServer',
  'MCPServerEntry',
  'MCPGroup',
  'MCPOIDCConfig',
  'MCPExternalAuthConfig',
  'MCPWebhookConfig',
  'Deployment',
  'StatefulSet',
  'ReplicaSet',
  'Pod',
  'Service',
  'ConfigMap',
  'ServiceAccount',
  'Role',
  'RoleBinding',
  'PodDisruptionBudget',
  'NetworkPolicy',
  'Secret',
  'Event',
];
const OURS = WATCHED.slice(0, 7);

/** Returns the version of every object of these namespaces, by `Kind/namespace/name`. */
export async function versions(api: ClusterApi, namespaces: readonly string[]): Promise<Record<string, string>> {
  const lists = await Promise.all(
    namespaces.flatMap((namespace) => WATCHED.map((kind) => api.list(placeOf(kind, namespace)))),
  );
  return Object.fromEntries(
    lists
      .flat()
      .map(({ kind, metadata }) => [
        `${kind}/${metadata.namespace ?? ''}/${metadata.name}`,
        `${metadata.uid ?? ''} ${metadata.resourceVersion ?? ''}`,
      ]),
  );
}

/** Waits until nothing has changed for `quietMs` in these namespaces. */
export async function settled(api: ClusterApi, namespaces: readonly string[], quietMs = 2_000): Promise<void> {
  let before = await versions(api, namespaces);
  await eventually(
    'the objects do not change',
    async () => {
      await sleep(quietMs);
      const now = await versions(api, namespaces);
      const isQuiet = isDeepStrictEqual(now, before);
      before = now;
      return isQuiet;
    },
    { timeoutMs: 60_000 },
  );
}

/** Returns the write requests of a user while `during` runs, one line each. */
export async function writesDuring(
  address: ControlPlaneAddress,
  username: string,
  during: () => Promise<unknown>,
): Promise<string[]> {
  const mark = await auditMark(address);
  await during();
  return writesOf(await auditSince(address, mark), username).map(lineOf);
}

/** Lists the custom resources whose last change the operator has not observed. */
export async function unobserved(playground: Playground): Promise<string[]> {
  const lists = await Promise.all(OURS.map((kind) => playground.list(kind)));
  return lists
    .flat()
    .filter((object) => at(object, 'status.observedGeneration') !== object.metadata.generation)
    .map(({ kind, metadata }) => `${kind}/${metadata.name}`);
}
