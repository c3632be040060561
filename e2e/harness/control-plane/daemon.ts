import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, openSync, closeSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { eventually } from '../poll.ts';

/** One program of a control plane; a test can stop and start it. */
export interface Daemon {
  readonly pid: () => number;
  start(): Promise<void>;
  /** Ends the process, with SIGKILL by default, and waits until it has ended. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

export interface DaemonOptions {
  readonly name: string;
  readonly file: string;
  readonly args: readonly string[];
  /** Path of the log; both output streams are appended. */
  readonly log: string;
  /** Called until it returns true; a throw counts as "not yet". */
  readonly ready: () => Promise<boolean>;
}

/** Collects less often than Go does by default: a start of kube-apiserver takes a fifth less time of the processor. */
const GOGC = '400';

/** Starts nothing yet. On Linux the kernel ends the daemon when the test process is killed. */
const TIED = existsSync('/usr/bin/setpriv') ? ['/usr/bin/setpriv', '--pdeathsig', 'KILL'] : [];

export function daemon({ name, file, args, log, ready }: DaemonOptions): Daemon {
  let child: ChildProcess | undefined;
  const running = (): boolean => child?.exitCode === null && child.signalCode === null;
  return {
    pid: () => child?.pid ?? -1,
    async start() {
      const out = openSync(log, 'a');
      const [command = file, ...rest] = [...TIED, file, ...args];
      child = spawn(command, rest, { stdio: ['ignore', out, out], env: { ...process.env, GOGC } });
      closeSync(out);
      let failure = '';
      child.once('error', (error) => (failure = error.message));
      const outcome = await eventually(
        `${name} is ready`,
        async () => (running() ? (await ready()) && ('ready' as const) : ('ended' as const)),
        { timeoutMs: 60_000, intervalMs: 25 },
      );
      if (outcome === 'ended')
        throw new Error(`${name} ended: ${failure}\n${(await readFile(log, 'utf8')).slice(-4_000)}`);
    },
    async stop(signal = 'SIGKILL') {
      if (child === undefined || !running()) return;
      const ended = once(child, 'exit');
      child.kill(signal);
      await ended;
    },
  };
}
