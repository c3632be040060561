import { readFile } from 'node:fs/promises';
import { auditLogOf, type ControlPlaneAddress } from '../../harness/control-plane/control-plane.ts';
import { ClusterApi, type KubeManifest } from '../../harness/control-plane/api.ts';
import type { OperatorAccess } from '../../operator/access.ts';
import { writesOf, type AuditEvent } from '../../operator/audit.ts';

/** A write of the end state, without data of the cluster in which it was recorded. */
export interface Write {
  readonly path: string;
  readonly contentType: string;
  readonly body: KubeManifest;
}

/** Recorded writes of the operator. */
export interface Recorded {
  /** The last version of each object, status and finalizer. */
  readonly endState: readonly Write[];
  /** Number of write requests, accepted or not, without events. */
  readonly writes: number;
  /** Time at which each part of the end state had been written once, in ms since 1970. */
  readonly reachedAt: number;
}

const AT_ONCE = 16;

/** Reads the writes of a user from the audit log, since the start of the control plane. */
export async function recordedWrites(plane: ControlPlaneAddress, username: string): Promise<Recorded> {
  const text = await readFile(auditLogOf(plane), 'utf8');
  const events = text
    .split('\n')
    .filter((line) => line.endsWith('}'))
    .map((line) => JSON.parse(line) as AuditEvent);
  const all = writesOf(events, username).filter(({ objectRef }) => objectRef?.resource !== 'events');
  const accepted = all.filter(({ verb, responseStatus }) => verb === 'patch' && (responseStatus?.code ?? 500) < 300);
  const last = new Map(accepted.map((event) => [event.requestURI, event]));
  const first = new Map(accepted.toReversed().map((event) => [event.requestURI, Date.parse(event.stageTimestamp)]));
  return {
    endState: [...last.values()].map((event) => asWrite(event, plane)),
    writes: all.length,
    reachedAt: Math.max(...first.values()),
  };
}

function asWrite({ requestURI, requestObject }: AuditEvent, { server }: ControlPlaneAddress): Write {
  const isApply = new URL(requestURI, server).searchParams.get('force') === 'true';
  const contentType = `application/${isApply ? 'apply-patch+yaml' : 'merge-patch+json'}`;
  const { metadata, ...rest } = requestObject as KubeManifest;
  const { uid: _uid, resourceVersion: _version, ...kept } = metadata;
  return { path: requestURI, contentType, body: { ...rest, metadata: kept } };
}

/** Identifies a custom resource across clusters. */
export const identityOf = (kind: string, namespace: string | undefined, name: string): string =>
  `${kind}/${namespace ?? ''}/${name}`;

/** Returns the object with the custom resource of this cluster as its owner. */
function ownedHere({ metadata, ...rest }: KubeManifest, uids: ReadonlyMap<string, string>): unknown {
  const owners = metadata['ownerReferences'] as { kind: string; name: string }[] | undefined;
  const ownerReferences = owners?.map((owner) => ({
    ...owner,
    uid: uids.get(identityOf(owner.kind, metadata.namespace, owner.name)),
  }));
  return { ...rest, metadata: { ...metadata, ...(ownerReferences && { ownerReferences }) } };
}

/**
 * Creates the custom resources, then writes the end state that an operator must reach: every object, finalizer and
 * final status once, without watches or decisions. Returns the duration in seconds.
 * @param createAll returns the uids of the custom resources by `identityOf`
 */
export async function writeBarely(
  { server }: ControlPlaneAddress,
  { ca, token }: OperatorAccess,
  createAll: () => Promise<ReadonlyMap<string, string>>,
  endState: readonly Write[],
): Promise<number> {
  const api = new ClusterApi({ server, ca, token });
  const start = performance.now();
  const uids = await createAll();
  // The API server rejects it before its Role exists, and the writer does not wait.
  const isBinding = ({ path }: Write) => Number(path.includes('/rolebindings/'));
  const queue = endState.toSorted((a, b) => isBinding(a) - isBinding(b))[Symbol.iterator]();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const { path, contentType, body } of queue) {
        const { status, message } = await api.send('PATCH', path, ownedHere(body, uids), contentType);
        if (status >= 300) throw new Error(`PATCH ${path}: ${String(status)} ${message}`);
      }
    }),
  );
  const seconds = (performance.now() - start) / 1_000;
  await api.close();
  return seconds;
}
