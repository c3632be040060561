import type { BackendProcess } from '../../../contract/gateway-config.ts';
import type { Logger } from '../../../contract/logger.ts';
import type { PortBook } from '../../runner/ports.ts';
import type { Launcher, LaunchState } from '../../runner/runner.ts';
import { supervise, type Workload as Supervised } from '../../runner/supervise.ts';

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
}

const MAX_RESTARTS = 10;
const FIRST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 60_000;
const STABLE_MS = 30_000;
const POLL_MS = 50;

/** Returns the pause before a restart: 5 s, 10 s, 20 s ... 60 s. */
const pauseMs = (restarts: number): number => Math.min(FIRST_PAUSE_MS * 2 ** (restarts - 1), LONGEST_PAUSE_MS);

/** Starts the server in the background. It is restarted when it ends, up to ten times in a row. */
export async function startServerProcess(options: ServerProcessOptions): Promise<ServerProcess> {
  const { launcher, process, name, transport, ports, portKey, log, onLine } = options;
  const port = await ports.portFor(portKey, process.target_port);
  const supervised = supervise({
    ...{ launcher, process, name, port, transport, log, onLine, pauseMs },
    now: () => performance.now(),
    maxRestarts: MAX_RESTARTS,
    stableMs: STABLE_MS,
  });
  return {
    url: `http://127.0.0.1:${String(port)}/${transport === 'sse' ? 'sse' : 'mcp'}`,
    launchState: () => launchStateOf(supervised),
    isOpenWithin: (timeoutMs) => opens(supervised, timeoutMs),
    stop: () => supervised.stop(),
  };
}

function launchStateOf(supervised: Supervised): LaunchState {
  const { status, restarts, problem } = supervised.state();
  if (status === 'running') return {};
  const isFirst = restarts === 0 && (status === 'installing' || status === 'starting');
  return isFirst ? { phase: status, problem } : { problem };
}

async function opens(supervised: Supervised, timeoutMs: number): Promise<boolean> {
  const end = performance.now() + timeoutMs;
  for (;;) {
    const { status } = supervised.state();
    if (status === 'running') return true;
    if (status === 'failed' || status === 'backoff' || status === 'stopped' || performance.now() >= end) return false;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}
