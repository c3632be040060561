import { outageOf } from '../../../workloads/runner/engine-outage.ts';
import type { RestartPolicy } from '../../../workloads/runner/restarts.ts';
import {
  LaunchError,
  type Child,
  type Command,
  type Exit,
  type LaunchProblem,
  type Launcher,
  type StartPhase,
} from '../../../workloads/runner/runner.ts';
import { ANONYMOUS } from '../../../contract/identity.ts';
import { processesPerPrincipal } from '../../budgets/limits.ts';
import { afterTimeout } from '../../../kit/time.ts';
import { failureOfAbort } from '../abort.ts';
import { BackendError, type Channel, type Transport } from '../channel.ts';
import { ownRestarts, type RestartCount } from './restart-count.ts';
import { isShared, offeredCapabilities, OWN_PROCESS, processKey, type PrincipalOwner } from '../isolation.ts';
import { ProcessPool } from './process-pool.ts';
import {
  startStdioProcess,
  type ProcessStreams,
  type StdioProcess,
  type StdioProcessOptions,
} from './stdio-process.ts';

/** Options of the processes of one backend. */
export interface ProcessesOptions extends StdioProcessOptions {
  readonly maxProcesses: number;
  readonly idleMs: number;
  readonly longestPauseMs?: number;
  /** Rules for the restarts of the gateway's own process; without them there is no limit. */
  readonly restarts?: RestartPolicy | undefined;
}

export interface StdioTransportOptions extends ProcessesOptions {
  /**
   * Returns the command to run, usually `launcher.prepare` of the backend's process. Called again until it has
   * succeeded once or failed permanently.
   */
  readonly command: () => Promise<Command>;
  readonly launcher: Pick<Launcher, 'spawn'>;
}

export interface StdioTransport extends Transport {
  /** `starting` until the handshake of the first process has ended, or its start has failed. */
  phase(): StartPhase | undefined;
  open(owner: PrincipalOwner, signal: AbortSignal): Promise<Channel>;
}

/**
 * Creates a transport over the standard streams of child processes. `isolation` decides which owners share a process.
 */
export function stdioTransport(options: StdioTransportOptions): StdioTransport {
  const { launcher, name } = options;
  let prepared: Promise<Command> | undefined;
  let isPreparing = true; // the gateway starts a process as soon as it has the backend
  const prepare = async (): Promise<Command> => {
    isPreparing = true;
    try {
      return await options.command();
    } catch (error) {
      if (!(error instanceof LaunchError && error.problem.permanent)) prepared = undefined;
      throw error;
    } finally {
      isPreparing = false;
    }
  };
  const command = () => (prepared ??= prepare());
  const transport = processTransport(options, (closing) =>
    unlessAborted(command(), closing, () => undefined)
      .then((ready) => {
        const child = launcher.spawn(ready, { name, stdin: true });
        return streamsOf(child, ready.container && (() => (prepared = undefined)));
      })
      .catch(refuseLaunch),
  );
  return { ...transport, phase: () => (isPreparing ? 'installing' : transport.phase()) };
}

/**
 * Creates a transport. `startProcess` returns the streams of a new process before its handshake; `closing` is aborted
 * when the transport is closed.
 */
export function processTransport(
  options: ProcessesOptions,
  startProcess: (closing: AbortSignal) => Promise<ProcessStreams>,
): StdioTransport {
  const { isolation, now, after = afterTimeout, maxProcesses, idleMs, restarts } = options;
  const shared = isShared(isolation);
  // The gateway starts a process of its own as soon as it has the backend.
  let firstStartEnded = false;
  const own = ownRestarts(restarts, isolation, now);
  const start = async (owner: PrincipalOwner, closing: AbortSignal): Promise<StdioProcess> => {
    const counted = own.countOf(owner);
    try {
      const capabilities = offeredCapabilities(owner.capabilities, shared);
      const streams = await startProcess(closing).catch((error: unknown) => countFailure(error, counted));
      const process = startStdioProcess(streams, { ...owner, capabilities }, options, closing);
      return counted && !closing.aborted ? await countEnds(process, streams, counted, closing) : await process;
    } finally {
      firstStartEnded = true;
    }
  };
  const pool = new ProcessPool({
    maxProcesses,
    // otherwise one user could open as many sessions as there are processes
    principalOf: ({ principal }) => (shared || principal === ANONYMOUS ? undefined : principal),
    maxPerPrincipal: processesPerPrincipal(maxProcesses),
    uncounted: OWN_PROCESS,
    idleMs,
    pauses: { longestMs: options.longestPauseMs, policy: restarts },
    clock: { now, after },
    start,
  });

  return {
    async open(owner, signal) {
      if (signal.aborted) throw new BackendError(failureOfAbort(signal));
      const key = processKey(isolation, owner);
      const release = () => (shared ? Promise.resolve() : pool.release(key));
      const opening = pool
        .acquire(key, owner, (process) => process.channel(owner, release))
        .catch((error: unknown) => {
          if (error instanceof BackendError && error.failure.budget === 'processes')
            owner.account?.refused('processes');
          throw error;
        });
      return unlessAborted(opening, signal, (late) => void late.close());
    },
    phase: () => (firstStartEnded ? undefined : 'starting'),
    restart: () => own.current(),
    close: () => pool.close(),
  };
}

/**
 * Returns the streams of a child, whose end has the line of stderr that names its cause. The end of a container has the problem of its
 * engine, too: `onOutage` is called when that has stopped.
 */
function streamsOf(child: Child, onOutage: (() => void) | undefined): ProcessStreams {
  const exited = child.exited.then((exit) => {
    const problem = onOutage && outageOf(exit, child.lastStderr());
    if (problem) onOutage();
    return { ...exit, line: child.stderrCause(), ...(problem && { problem }) };
  });
  const { stdin, stdout } = child;
  return { stdin, stdout, exited, stop: (graceMs) => child.stop(graceMs) };
}

/** Notes that a process could not be started, and throws `error`. */
function countFailure(error: unknown, count: RestartCount | undefined): never {
  const problem = error instanceof BackendError ? error.failure.launch : undefined;
  if (problem) count?.failed(problem);
  throw error;
}

/** Counts the ends of a process that are not deliberate, also before its handshake has ended. */
async function countEnds(
  starting: Promise<StdioProcess>,
  { exited }: ProcessStreams,
  count: RestartCount,
  closing: AbortSignal,
): Promise<StdioProcess> {
  try {
    const process = await starting;
    count.started();
    void process.ended.then(async ({ deliberate, aliveMs }) => {
      if (!deliberate) countEnd(await exited, count, aliveMs);
    });
    return process;
  } catch (error) {
    if (closing.aborted || !(error instanceof BackendError)) throw error;
    const exit = error.failure.kind === 'unavailable' ? await exited : undefined;
    countEnd(exit, count);
    throw exit?.problem ? new BackendError({ ...error.failure, launch: exit.problem }) : error;
  }
}

/** A container that ended with its engine is no crash of its server. */
function countEnd(exit: (Exit & { problem?: LaunchProblem }) | undefined, count: RestartCount, aliveMs?: number): void {
  if (exit?.problem) count.failed(exit.problem);
  else count.ended(exit, aliveMs);
}

function refuseLaunch(error: unknown): never {
  if (error instanceof LaunchError)
    throw new BackendError({ kind: 'unavailable', detail: error.message, launch: error.problem });
  throw error;
}

/**
 * Waits for a start. `discard` receives the result when the caller has stopped waiting: others may wait for the same
 * process.
 */
function unlessAborted<T>(pending: Promise<T>, signal: AbortSignal, discard: (late: T) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      reject(new BackendError(failureOfAbort(signal)));
    };
    signal.addEventListener('abort', abort, { once: true });
    pending
      .then((value) => {
        if (signal.aborted) discard(value);
        else resolve(value);
      }, reject)
      .finally(() => signal.removeEventListener('abort', abort));
  });
}
