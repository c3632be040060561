import { readFile } from 'node:fs/promises';
import { auditLogOf, type ControlPlaneAddress } from '../harness/control-plane.ts';
import { ClusterApi, type KubeManifest } from '../harness/control-plane-api.ts';
import type { OperatorAccess } from '../operator/access.ts';
import { writesOf, type AuditEvent } from '../operator/audit.ts';

/** A write without what ties it to the cluster that it was recorded in. */
interface Write {
  readonly path: string;
  readonly contentType: string;
  readonly body: unknown;
}

const AT_ONCE = 16;

/** What a user has written since the control plane began, in its order. */
export async function recordedWrites(plane: ControlPlaneAddress, username: string): Promise<Write[]> {
  const text = await readFile(auditLogOf(plane), 'utf8');
  const events = text
    .split('\n')
    .filter((line) => line.endsWith('}'))
    .map((line) => JSON.parse(line) as AuditEvent);
  return writesOf(events, username)
    .filter(({ verb, responseStatus }) => verb === 'patch' && (responseStatus?.code ?? 500) < 300)
    .map(({ requestURI, requestObject }) => {
      const isApply = new URL(requestURI, plane.server).searchParams.get('force') === 'true';
      const contentType = `application/${isApply ? 'apply-patch+yaml' : 'merge-patch+json'}`;
      return { path: requestURI, contentType, body: untied(requestObject as KubeManifest) };
    });
}

function untied({ metadata, ...rest }: KubeManifest): unknown {
  const { uid: _uid, resourceVersion: _version, ownerReferences: _owners, ...kept } = metadata;
  return { ...rest, metadata: kept };
}

/**
 * Creates the custom resources, then writes what an operator has written for them: no watch, no decision, no status
 * that is looked at. How long that takes, in seconds, is what an operator on this machine can at best reach.
 */
export async function writeBarely(
  { server }: ControlPlaneAddress,
  { ca, token }: OperatorAccess,
  createAll: () => Promise<unknown>,
  writes: readonly Write[],
): Promise<number> {
  const api = new ClusterApi({ server, ca, token });
  const start = performance.now();
  await createAll();
  // Refused before its Role is there, and here nobody waits for anybody.
  const isBinding = ({ path }: Write) => Number(path.includes('/rolebindings/'));
  const queue = writes.toSorted((a, b) => isBinding(a) - isBinding(b))[Symbol.iterator]();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const { path, contentType, body } of queue) {
        const { status, message } = await api.send('PATCH', path, body, contentType);
        if (status >= 300) throw new Error(`PATCH ${path}: ${String(status)} ${message}`);
      }
    }),
  );
  const seconds = (performance.now() - start) / 1_000;
  await api.close();
  return seconds;
}
