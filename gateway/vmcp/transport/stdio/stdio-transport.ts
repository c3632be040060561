import { LaunchError, type Command, type Launcher } from '../../../workloads/runner/runner.ts';
import { afterTimeout } from '../../clock.ts';
import { failureOfAbort } from '../abort.ts';
import { BackendError, type Channel, type Transport } from '../channel.ts';
import { isShared, offeredCapabilities, OWN_PROCESS, processKey, type PrincipalOwner } from '../isolation.ts';
import { ProcessPool } from './process-pool.ts';
import {
  startStdioProcess,
  type ProcessStreams,
  type StdioProcess,
  type StdioProcessOptions,
} from './stdio-process.ts';

/** What is behind the standard streams of one backend. */
export interface ProcessesOptions extends StdioProcessOptions {
  readonly maxProcesses: number;
  readonly idleMs: number;
  readonly longestPauseMs?: number;
}

export interface StdioTransportOptions extends ProcessesOptions {
  /**
   * The command to run, usually `launcher.prepare` of the backend's process; asked again until it has answered once, or has failed
   * for good.
   */
  readonly command: () => Promise<Command>;
  readonly launcher: Pick<Launcher, 'spawn'>;
}

export interface StdioTransport extends Transport {
  open(owner: PrincipalOwner, signal: AbortSignal): Promise<Channel>;
}

/** MCP over the standard streams of child processes; which owners share a process is decided by `isolation`. */
export function stdioTransport(options: StdioTransportOptions): StdioTransport {
  const { launcher, name } = options;
  let prepared: Promise<Command> | undefined;
  const command = () =>
    (prepared ??= options.command().catch((error: unknown) => {
      if (!(error instanceof LaunchError && error.problem.permanent)) prepared = undefined;
      throw error;
    }));
  return processTransport(options, (closing) =>
    unlessAborted(command(), closing, () => undefined)
      .then((ready) => launcher.spawn(ready, { name, stdin: true }))
      .catch(refuseLaunch),
  );
}

/** `startProcess` gives the streams of one more process, before its handshake; `closing` is aborted when the transport is closed. */
export function processTransport(
  options: ProcessesOptions,
  startProcess: (closing: AbortSignal) => Promise<ProcessStreams>,
): StdioTransport {
  const { isolation, now, after = afterTimeout, maxProcesses, idleMs, longestPauseMs } = options;
  const shared = isShared(isolation);
  const start = async (owner: PrincipalOwner, closing: AbortSignal): Promise<StdioProcess> => {
    const capabilities = offeredCapabilities(owner.capabilities, shared);
    const streams = await startProcess(closing);
    return startStdioProcess(streams, { ...owner, capabilities }, options, closing);
  };
  const pool = new ProcessPool({
    maxProcesses,
    uncounted: OWN_PROCESS,
    idleMs,
    longestPauseMs,
    clock: { now, after },
    start,
  });

  return {
    async open(owner, signal) {
      if (signal.aborted) throw new BackendError(failureOfAbort(signal));
      const key = processKey(isolation, owner);
      const release = () => (shared ? Promise.resolve() : pool.release(key));
      const opening = pool.acquire(key, owner, (process) => process.channel(owner, release));
      return unlessAborted(opening, signal, (late) => void late.close());
    },
    close: () => pool.close(),
  };
}

function refuseLaunch(error: unknown): never {
  if (error instanceof LaunchError)
    throw new BackendError({ kind: 'unavailable', detail: error.message, launch: error.problem });
  throw error;
}

/** `discard` gets a result that nobody waits for any more: others may wait for the same process, so its start goes on. */
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
