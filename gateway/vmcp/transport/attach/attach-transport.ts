import { LONGEST_TIMER_MS } from '../../clock.ts';
import { attach, type AttachPlace } from './attached-container.ts';
import { processTransport, type ProcessesOptions, type StdioTransport } from '../stdio/stdio-transport.ts';

export interface AttachTransportOptions extends Omit<ProcessesOptions, 'isolation' | 'maxProcesses' | 'idleMs'> {
  readonly place: AttachPlace;
  readonly pingEveryMs?: number;
}

/** The kubelet has pauses of its own before it starts a container again: ours only spare the API server. */
const PAUSE_MS = 2_000;
const PING_EVERY_MS = 15_000;

/**
 * MCP over the standard streams of a container in a pod. One process for all sessions; it ends with the connection to
 * it, because the container's `stdinOnce` ends the server then, and the kubelet starts the next one, for which the next
 * opening connects anew.
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
