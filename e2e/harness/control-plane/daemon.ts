import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, openSync, closeSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { eventually } from '../poll.ts';

/** One program of a control plane, which can end and start again. */
export interface Daemon {
  readonly pid: () => number;
  start(): Promise<void>;
  /** SIGKILL unless told otherwise; resolves when it is gone. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

export interface DaemonOptions {
  readonly name: string;
  readonly file: string;
  readonly args: readonly string[];
  /** Both streams, appended. */
  readonly log: string;
  /** Asked until it answers; a throw counts as "not yet". */
  readonly ready: () => Promise<boolean>;
}

/** On Linux the kernel ends a daemon whose test process was killed. */
const TIED = existsSync('/usr/bin/setpriv') ? ['/usr/bin/setpriv', '--pdeathsig', 'KILL'] : [];

export function daemon({ name, file, args, log, ready }: DaemonOptions): Daemon {
  let child: ChildProcess | undefined;
  const running = (): boolean => child?.exitCode === null && child.signalCode === null;
  return {
    pid: () => child?.pid ?? -1,
    async start() {
      const out = openSync(log, 'a');
      const [command = file, ...rest] = [...TIED, file, ...args];
      child = spawn(command, rest, { stdio: ['ignore', out, out] });
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
