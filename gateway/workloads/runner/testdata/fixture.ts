import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Environment } from '../environment.ts';
import { createLauncher } from '../launcher.ts';
import type { Command, Launcher } from '../runner.ts';
import { startTime } from '../process/process-lock.ts';
import type { Logger } from '../../../contract/logger.ts';

export interface LogEntry {
  readonly level: 'info' | 'warn';
  readonly message: string;
  readonly fields: Record<string, unknown>;
}

export interface Fixture {
  readonly stateDir: string;
  readonly launcher: Launcher;
  readonly logged: LogEntry[];
  /** Creates another launcher for the same state folder. */
  readonly another: () => Launcher;
  readonly close: () => Promise<void>;
}

export function recordingLog(): { log: Pick<Logger, 'warn' | 'info'>; logged: LogEntry[] } {
  const logged: LogEntry[] = [];
  const at = (level: LogEntry['level']) => (message: string, fields: Record<string, unknown>) =>
    logged.push({ level, message, fields });
  return { log: { info: at('info'), warn: at('warn') }, logged };
}

export function openFixture(options: { hostEnv?: Environment; projectRoot?: string } = {}): Fixture {
  const stateDir = mkdtempSync(join(tmpdir(), 'vmcp-runner-'));
  const { log, logged } = recordingLog();
  const { hostEnv = process.env, projectRoot = import.meta.dirname } = options;
  const launchers: Launcher[] = [];
  const another = () => {
    const launcher = createLauncher({ stateDir, projectRoot, hostEnv, log });
    launchers.push(launcher);
    return launcher;
  };
  return {
    stateDir,
    launcher: another(),
    logged,
    another,
    async close() {
      await Promise.all(launchers.map((launcher) => launcher.close(200)));
      rmSync(stateDir, { recursive: true, force: true });
    },
  };
}

/** Returns the command of a child that runs JavaScript. */
export const script = (code: string, more: Partial<Command> = {}): Command => ({
  file: process.execPath,
  args: ['-e', code],
  env: { PATH: process.env['PATH'] ?? '' },
  envFiles: {},
  ...more,
});

export const isRunning = (pid: number): boolean => startTime(pid) !== undefined;

/** Waits until `condition` is true. Throws after `withinMs`. */
export async function until(condition: () => boolean, withinMs = 10_000): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`not within ${withinMs} ms: ${condition.toString()}`);
    await sleep(20);
  }
}
