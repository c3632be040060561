import { setTimeout as sleep } from 'node:timers/promises';
import type { BackendProcess } from '../../../contract/gateway-config.ts';
import type { Logger } from '../../../contract/logger.ts';
import type { PortBook } from '../../runner/ports.ts';
import type { Launcher, LaunchState, Restart } from '../../runner/runner.ts';
import { WORKLOAD_RESTARTS } from '../../runner/restarts.ts';
import {
  exitOf,
  supervise,
  type SupervisedServer as Supervision,
  type SupervisedState as Supervised,
} from '../../runner/supervise.ts';

/** The HTTP server of a workload: one process or container on a loopback port. */
export interface ServerProcess {
  readonly url: string;
  launchState(): LaunchState;
  /** Resolves with true once its port is open; with false when it failed, or after `timeoutMs`. */
  isOpenWithin(timeoutMs: number): Promise<boolean>;
  stop(): Promise<void>;
}

export interface ServerProcessOptions {
  readonly launcher: Launcher;
  readonly process: BackendProcess;
  readonly name: string;
  readonly transport: 'streamable-http' | 'sse';
  readonly ports: PortBook;
  /** Key of the port in the book. */
  readonly portKey: string;
  readonly log: Logger;
  readonly onLine: (line: string) => void;
  /** Called when the server has ended, and when its port has opened. */
  readonly onChange: () => void;
}

const POLL_MS = 50;

/** Starts the server in the background. It is restarted when it ends, up to ten times in a row. */
export async function startServerProcess(options: ServerProcessOptions): Promise<ServerProcess> {
  const { launcher, process, name, transport, ports, portKey, log, onLine, onChange } = options;
  const port = await ports.portFor(portKey, process.target_port);
  const supervised = supervise({
    ...{ launcher, process, name, port, transport, log, onLine, onChange, ...WORKLOAD_RESTARTS },
    now: () => performance.now(),
  });
  return {
    url: `http://127.0.0.1:${String(port)}/${transport === 'sse' ? 'sse' : 'mcp'}`,
    launchState: () => launchStateOf(supervised.state(), performance.now()),
    isOpenWithin: (timeoutMs) => opens(supervised, timeoutMs),
    stop: () => supervised.stop(),
  };
}

/** Returns the state of a supervised server at a time on its clock. Pure. */
export function launchStateOf(state: Supervised, now: number): LaunchState {
  const { status, restarts, problem } = state;
  const restart = restartOf(state, now);
  if (status === 'running') return { restart };
  const isFirst = restarts === 0 && (status === 'installing' || status === 'starting');
  return isFirst ? { phase: status, problem } : { problem, restart, exit: exitOf(state) };
}

/** Returns the restart of a server that ended, until it has run for some time again. */
function restartOf(state: Supervised, now: number): Restart | undefined {
  const { status, inARow = 0, problem, startedAt = 0 } = state;
  const exit = exitOf(state);
  if (status === 'failed' || status === 'stopped' || status === 'late' || (!exit && !problem)) return undefined;
  const isOpen = status === 'running';
  if (isOpen && now - startedAt >= WORKLOAD_RESTARTS.stableMs) return undefined;
  return { number: inARow, last: WORKLOAD_RESTARTS.maxRestarts, exit, problem, isOpen };
}

async function opens(supervised: Supervision, timeoutMs: number): Promise<boolean> {
  const end = performance.now() + timeoutMs;
  for (;;) {
    const { status } = supervised.state();
    if (status === 'running') return true;
    if (status === 'failed' || status === 'backoff' || status === 'stopped' || performance.now() >= end) return false;
    await sleep(POLL_MS);
  }
}
