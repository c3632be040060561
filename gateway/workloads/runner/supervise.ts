import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BackendProcess } from '../../contract/gateway-config.ts';
import { restartPauseMs, countRestart } from './restarts.ts';
import { logLines, readLines } from './lines.ts';
import { isOutage, outageOf } from './engine-outage.ts';
import { crashLoop } from './restarts.ts';
import { LaunchError, type Child, type Exit, type LaunchProblem, type Launcher } from './runner.ts';
import type { Logger } from '../../contract/logger.ts';

/** Supervised HTTP server. */
export interface SupervisedServer {
  readonly name: string;
  readonly port: number;
  state(): SupervisedState;
  /** Stops the server and the supervision. Idempotent. */
  stop(graceMs?: number): Promise<void>;
}

export interface SupervisedState {
  /**
   * `installing`: its package or image is being prepared. `running`: its port has accepted a connection. `late`: its
   * port is closed although it was started 30 s ago. `backoff`: it ended and waits for its next start. `failed`: its
   * configuration cannot be started, and it is not retried.
   */
  readonly status: 'installing' | 'starting' | 'late' | 'running' | 'backoff' | 'failed' | 'stopped';
  /** Restarts since the start of the supervision. */
  readonly restarts: number;
  readonly lastExit?: Exit;
  /** Line of its error output that names the cause of that. */
  readonly lastLine?: string;
  /** Reason why it could not be started. */
  readonly problem?: LaunchProblem;
  /** Restarts in a row, of which the last may still be to come. Absent before the first end. */
  readonly inARow?: number;
  /** Time on the clock of the supervision at which it was started last. */
  readonly startedAt?: number;
}

export interface SuperviseOptions {
  readonly launcher: Pick<Launcher, 'prepare' | 'spawn'>;
  readonly process: BackendProcess;
  readonly name: string;
  /** Free loopback port, see `openPortBook`. */
  readonly port: number;
  readonly transport: 'streamable-http' | 'sse';
  readonly log: Pick<Logger, 'warn' | 'info'>;
  /** Monotonic clock in ms. */
  readonly now: () => number;
  readonly pauseMs?: (restarts: number) => number;
  /** Restarts in a row after which the server counts as failed; without it there is no limit. */
  readonly maxRestarts?: number;
  /** Uptime that resets the number of restarts in a row; a minute when absent. */
  readonly stableMs?: number;
  /** Gets each line of the server's output, besides the log. */
  readonly onLine?: (line: string) => void;
  /** Called when the server has ended, and when its port has opened. */
  readonly onChange?: () => void;
  /** Time until the log warns about a closed port. */
  readonly openWithinMs?: number;
}

const PROBE_MS = 50;
const OPEN_WITHIN_MS = 30_000;

/** Starts the server and restarts it whenever it ends, unless the failure is permanent. Logs each crash in one line. */
export function supervise(options: SuperviseOptions): SupervisedServer {
  const { name, port } = options;
  const ended = new AbortController();
  let state: SupervisedState = { status: 'installing', restarts: 0 };
  let child: Child | undefined;
  const run = keepRunning(options, ended.signal, {
    started: (next) => (child = next),
    state: (next) => (state = next),
  });
  return {
    name,
    port,
    state: () => state,
    async stop(graceMs) {
      ended.abort();
      await child?.stop(graceMs);
      await run;
      state = { ...state, status: 'stopped' };
    },
  };
}

interface Observer {
  readonly started: (child: Child) => void;
  readonly state: (state: SupervisedState) => void;
}

/** End of a run and its reason. */
type End = Pick<SupervisedState, 'lastExit' | 'lastLine' | 'problem' | 'inARow'>;

async function keepRunning(options: SuperviseOptions, signal: AbortSignal, observer: Observer): Promise<void> {
  const { now, log, name, pauseMs = restartPauseMs, maxRestarts, onChange } = options;
  const stopped = () => signal.aborted;
  let inARow = 0;
  let end: End = {};
  for (let restarts = 0; !stopped(); restarts += 1) {
    const startedAt = now();
    const enter = (status: SupervisedState['status']) => {
      observer.state({ status, restarts, startedAt, ...end });
      if (status === 'running' || status === 'backoff' || status === 'failed') onChange?.();
    };
    enter('installing');
    const { message, fields, ...next } = await runOnce(options, signal, observer.started, enter);
    end = { ...next.end, inARow };
    const over = stopped() || end.problem?.reason === 'LauncherClosed';
    if (over || end.problem?.permanent === true) {
      enter(over ? 'stopped' : 'failed');
      if (!over) log.warn(message, { workload: name, ...fields });
      return;
    }
    const waits = maxRestarts !== undefined && isOutage(end.problem);
    if (!waits) inARow = countRestart(inARow, now() - startedAt, options.stableMs);
    if (maxRestarts !== undefined && inARow > maxRestarts) {
      end = { ...end, problem: crashLoop(maxRestarts, exitOf(end)) };
      enter('failed');
      log.warn('workload ends again and again: it is not restarted', { workload: name, ...fields });
      return;
    }
    end = { ...end, inARow };
    enter('backoff');
    const restartInMs = pauseMs(waits ? 1 : inARow);
    log.warn(message, { workload: name, ...fields, restartInMs });
    await sleep(restartInMs, undefined, { signal }).catch(() => undefined);
  }
}

/** Returns the last end of a server with the line that names its cause. */
export const exitOf = ({
  lastExit,
  lastLine: line,
}: Pick<SupervisedState, 'lastExit' | 'lastLine'>): Exit | undefined =>
  lastExit && { ...lastExit, ...(line !== undefined && { line }) };

interface Outcome {
  readonly message: string;
  readonly fields: Record<string, unknown>;
  readonly end: End;
}

/** Runs the server once, from preparation to exit. A temporary preparation failure counts as a crash. */
async function runOnce(
  options: SuperviseOptions,
  signal: AbortSignal,
  started: (child: Child) => void,
  enter: (status: 'starting' | 'late' | 'running') => void,
): Promise<Outcome> {
  const { launcher, log, name, port, transport } = options;
  try {
    const command = await unlessStopped(launcher.prepare(options.process, name, { port, transport }), signal);
    if (command === undefined || signal.aborted) return { message: 'workload stopped', fields: {}, end: {} };
    const child = launcher.spawn(command, { name, stdin: false, onLine: options.onLine });
    started(child);
    enter('starting');
    readLines(child.stdout, logLines(log, name, options.onLine));
    void announceOpen(options, child, enter);
    const lastExit = await child.exited;
    const lastLine = child.stderrCause();
    const problem = command.container && outageOf(lastExit, child.lastStderr());
    return {
      message: 'workload ended',
      fields: { exitCode: lastExit.code, signal: lastExit.signal, lastLine: lastLine ?? child.lastStderr() },
      end: { lastExit, ...(lastLine !== undefined && { lastLine }), ...(problem && { problem }) },
    };
  } catch (error) {
    const failure = error instanceof LaunchError ? error : new LaunchError('InstallFailed', String(error));
    const { reason, message, problem } = failure;
    return { message: 'workload not started', fields: { reason, error: message }, end: { problem } };
  }
}

/** Prepares the command. Returns undefined when the supervision ends first, since an install can take minutes. */
function unlessStopped<T>(pending: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      resolve(undefined);
    };
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    pending.then(resolve, reject).finally(() => {
      signal.removeEventListener('abort', stop);
    });
  });
}

async function announceOpen(
  { name, port, log, now, openWithinMs = OPEN_WITHIN_MS }: SuperviseOptions,
  child: Child,
  enter: (status: 'late' | 'running') => void,
): Promise<void> {
  let over = false;
  const ended = () => over;
  void child.exited.then(() => (over = true));
  const startedAt = now();
  let warned = false;
  while (!ended()) {
    if (await accepts(port)) {
      if (!ended()) enter('running');
      return;
    }
    if (!warned && now() - startedAt >= openWithinMs) {
      warned = true;
      enter('late');
      log.warn('workload has not opened its port: check that it listens on the port in PORT', { workload: name, port });
    }
    await sleep(warned ? PROBE_MS * 20 : PROBE_MS);
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    const answer = (open: boolean) => {
      socket.destroy();
      resolve(open);
    };
    socket.once('connect', () => {
      answer(true);
    });
    socket.once('error', () => {
      answer(false);
    });
  });
}
