import type { Workload, WorkloadStatus } from '../../workloads.ts';
import { runConfigOfObject } from './edit-object.ts';
import { RESTARTED_AT, type Condition, type ServerObject, type WorkloadObject } from './workload-object.ts';

/** Time of events that have not happened. */
const NEVER = '0001-01-01T00:00:00Z';
const HTTPS_PORT = 443;
const HTTP_PORT = 80;

/** Returns a workload and its state, which follows from the status that the operator writes. */
export function workloadOf(object: WorkloadObject): Workload {
  const { metadata, kind } = object;
  const config = runConfigOfObject(object);
  const isServer = kind === 'MCPServer';
  return {
    ...stateOf(object),
    config,
    created_at: metadata.creationTimestamp ?? NEVER,
    started_at: isServer ? startedAt(object) : NEVER,
    ...(isServer
      ? { port: config.port ?? 0, url: object.status?.url ?? '' }
      : { port: portOf(object.spec.remoteUrl), url: object.spec.remoteUrl }),
  };
}

function portOf(url: string): number {
  const { port = '', protocol } = URL.parse(url) ?? {};
  return port === '' ? (protocol === 'http:' ? HTTP_PORT : HTTPS_PORT) : Number(port);
}

/** Returns the state of a workload, with the reason that its conditions state. */
export function stateOf(object: WorkloadObject): WorkloadStatus {
  if (object.metadata.deletionTimestamp !== undefined) return { status: 'removing' };
  if (object.kind === 'MCPServer' && isScaledToNothing(object))
    return { status: (object.status?.readyReplicas ?? 0) > 0 ? 'stopping' : 'stopped' };
  const { phase, observedGeneration, message } = object.status ?? {};
  if (phase === undefined || observedGeneration !== object.metadata.generation)
    return { status: 'starting', status_context: 'the operator has not applied the last change yet' };
  const context = message ?? conditionOf(object, 'Ready')?.message;
  const reason = context === undefined || context === '' ? {} : { status_context: context };
  switch (phase) {
    case 'Ready':
      return conditionOf(object, 'Ready')?.status === 'True'
        ? { status: 'running' }
        : { status: 'unhealthy', ...reason };
    case 'Valid':
      return { status: 'running' };
    case 'Pending':
    case 'Stopped': // Scaled up again, which the operator has applied but not observed.
      return { status: 'starting', ...reason };
    case 'Failed':
      return { status: 'error', ...reason };
    case 'Terminating':
      return { status: 'removing' };
    default:
      return {
        status: 'unknown',
        status_context: `the operator reports the phase "${phase}", which this vmcp does not know: upgrade vmcp`,
      };
  }
}

/** Returns true for a server that was stopped or scaled to nothing. */
export const isScaledToNothing = ({ spec: { replicas, backendReplicas } }: ServerObject): boolean =>
  (replicas ?? backendReplicas) === 0;

const conditionOf = ({ status }: WorkloadObject, type: string): Condition | undefined =>
  status?.conditions?.find((condition) => condition.type === type);

/** Returns the later of the last restart and the time since which pods are ready. A server without pods is ready, too. */
function startedAt(object: ServerObject): string {
  const ready = conditionOf(object, 'Ready');
  const hasPods = ready?.status === 'True' && ready.reason !== 'ScaledToZero';
  const times = [object.metadata.annotations?.[RESTARTED_AT], hasPods && ready.lastTransitionTime];
  const known = times.filter((time) => typeof time === 'string').filter((time) => !Number.isNaN(Date.parse(time)));
  return known.toSorted((one, other) => Date.parse(other) - Date.parse(one))[0] ?? NEVER;
}
