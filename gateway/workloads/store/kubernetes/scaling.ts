import { isScaledToNothing } from './state-of-object.ts';
import { REPLICAS_BEFORE_STOP, RESTARTED_AT, type ServerObject } from './workload-object.ts';

/** Returns the merge patch that stops a server; undefined for one that is stopped. */
export function stopPatch(server: ServerObject): object | undefined {
  if (isScaledToNothing(server)) return undefined;
  const { replicas } = server.spec;
  const before = replicas === undefined ? '' : String(replicas);
  return { metadata: { annotations: { [REPLICAS_BEFORE_STOP]: before } }, spec: { replicas: 0 } };
}

/** Returns the merge patch that starts a server with its previous number of pods; undefined for one that is started. */
export function startPatch(server: ServerObject): object | undefined {
  if (!isScaledToNothing(server)) return undefined;
  return { metadata: { annotations: { [REPLICAS_BEFORE_STOP]: null } }, spec: { replicas: replicasToStart(server) } };
}

/** Returns the merge patch that replaces the pods of a server, or starts it. */
export function restartPatch(server: ServerObject, time: string): object {
  const start = isScaledToNothing(server);
  return {
    metadata: { annotations: { [RESTARTED_AT]: time, ...(start && { [REPLICAS_BEFORE_STOP]: null }) } },
    ...(start && { spec: { replicas: replicasToStart(server) } }),
  };
}

/** Returns null to remove the field, which lets an autoscaler or the default decide. */
function replicasToStart({ metadata, spec }: ServerObject): number | null {
  const before = metadata.annotations?.[REPLICAS_BEFORE_STOP];
  if (before === '' && spec.backendReplicas !== 0) return null;
  return Math.max(1, Math.trunc(Number(before ?? 1)) || 1);
}
