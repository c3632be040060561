import { LONGEST_TIMER_MS } from '../../../kit/time.ts';
import { attach, type AttachPlace } from './attached-container.ts';
import { processTransport, type ProcessesOptions, type StdioTransport } from '../stdio/stdio-transport.ts';

export interface AttachTransportOptions extends Omit<ProcessesOptions, 'isolation' | 'maxProcesses' | 'idleMs'> {
  readonly place: AttachPlace;
  readonly pingEveryMs?: number;
}

/** Longest pause before a restart. The kubelet has its own back-off; this one only spares the API server. */
const PAUSE_MS = 2_000;
const PING_EVERY_MS = 15_000;

/**
 * MCP over the standard streams of a container in a pod. All sessions share one process, which ends with the
 * connection: `stdinOnce` of the container ends the server, the kubelet restarts it, and the next opening attaches
 * again.
 */
export function attachTransport(options: AttachTransportOptions): StdioTransport {
  const { place, name, initTimeoutMs, log, pingEveryMs = PING_EVERY_MS } = options;
  const processes = {
    isolation: 'shared',
    maxProcesses: 1,
    idleMs: LONGEST_TIMER_MS,
    longestPauseMs: PAUSE_MS,
  } as const;
  return processTransport({ ...options, ...processes }, (closing) =>
    attach(place, { name, timeoutMs: initTimeoutMs, pingEveryMs, log }, closing),
  );
}
