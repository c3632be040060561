import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { engineEnvironment, type Environment } from './environment.ts';
import { startGuard, type Guard } from './process/guard.ts';
import { isComplete, markerOf } from './schemes/installation/installation.ts';
import { SCHEMES } from './schemes/index.ts';
import { logLines, type LineListener } from './lines.ts';
import { tryLock } from './process/process-lock.ts';
import { isIsolated, startIsolated } from './process/isolated.ts';
import { readLeftovers, removeLeftovers, startProcess, type Leftover } from './process/process.ts';
import { LaunchError, type Child, type Command, type Launcher, type SpawnOptions } from './runner.ts';
import type { InstallDisplay } from './schemes/install-progress.ts';
import type { Place, RunResult, Scheme, Tools } from './schemes/scheme.ts';
import type { BackendProcess } from '../../contract/gateway-config.ts';
import type { Logger } from '../../contract/logger.ts';
import { Flights } from '../../kit/tasks.ts';

export interface LauncherOptions {
  readonly stateDir: string;
  /** Folder where the search for `npx://` packages starts, usually that of the program. */
  readonly projectRoot: string;
  /** Environment of this process. A child gets only the variables that environment.ts lists. */
  readonly hostEnv: Environment;
  readonly log: Pick<Logger, 'warn' | 'info'>;
  /** Shows installations. Without a display, they are lines of the log. */
  readonly display?: InstallDisplay | undefined;
}

/** `closeGraceMs` replaces the grace of `close`. */
type Start = (command: Command, options: SpawnOptions, listener: LineListener, closeGraceMs?: number) => Child;

const STDERR_TAIL_LINES = 200;
const INSTALL_POLL_MS = 100;
/** Grace of a tool, such as npm, when vmcp ends. npm obeys a signal only after it has installed everything. */
const TOOL_GRACE_MS = 500;

/** Returns the scheme of an image. Pure. @throws LaunchError `InvalidImageReference` */
export const checkImage = (image: string): void => {
  schemeOf(image).check(image);
};

/** Returns true when the server starts without a download; false where only a container engine knows. @throws LaunchError */
export const isInstalled = (process: BackendProcess, place: Place): boolean =>
  schemeOf(process.image).isInstalled?.(process, place) ?? false;

function schemeOf(image: string): Scheme {
  const scheme = SCHEMES.find(({ prefix }) => image.startsWith(prefix));
  if (scheme === undefined) throw new LaunchError('InvalidImageReference', `"${image}" is not an image reference`);
  return scheme;
}

/** Creates a launcher. Call `reapOrphans` for the same state folder first. */
export function createLauncher(options: LauncherOptions): Launcher {
  const { log } = options;
  const children = createChildren(options);
  const tools = createTools(options, children);
  return {
    async prepare(process, name, request = {}) {
      const scheme = schemeOf(process.image);
      if (process.container !== undefined && scheme.prefix !== '') throw notAContainer(process.image);
      await children.removeLeftovers();
      return scheme.prepare(process, { ...request, name }, tools);
    },
    spawn: (command, spawnOptions) =>
      children.start(command, spawnOptions, logLines(log, spawnOptions.name, spawnOptions.onLine)),
    removeContainers: (name) => children.removeLeftovers(name),
    close: (graceMs) => children.close(graceMs),
  };
}

const notAContainer = (image: string): LaunchError =>
  new LaunchError('IsolationUnavailable', `${image} runs as a process, which has no container options: use an image`);

/** Tracks the running children and their guard, which starts with the first child. */
function createChildren({ stateDir, hostEnv, log }: LauncherOptions) {
  const running = new Map<Child, number | undefined>();
  const leftovers = new Set<Leftover>(readLeftovers(stateDir));
  let guard: Guard | undefined;
  let closed = false;
  const expectOpen = (name: string): void => {
    if (closed) throw new LaunchError('LauncherClosed', `${name} is not started: vmcp is shutting down`);
  };
  const start: Start = (command, spawnOptions, listener, closeGraceMs) => {
    expectOpen(spawnOptions.name);
    guard ??= startGuard(engineEnvironment(hostEnv), (error) => {
      log.warn('process guard failed', { error: error.message });
    });
    const table = { stateDir, hostEnv, guard, leftovers };
    const child = isIsolated(command)
      ? startIsolated(command, spawnOptions, table, listener)
      : startProcess(command, spawnOptions, table, listener);
    running.set(child, closeGraceMs);
    void child.exited.then(() => running.delete(child));
    return child;
  };
  const close = async (graceMs?: number): Promise<void> => {
    closed = true;
    await Promise.all([...running].map(([child, closeGraceMs]) => child.stop(closeGraceMs ?? graceMs)));
    guard?.close();
    guard = undefined;
  };
  const removeOwn = (workload?: string) => removeLeftovers({ leftovers, hostEnv }, workload);
  return { start, expectOpen, close, removeLeftovers: removeOwn };
}

type Children = ReturnType<typeof createChildren>;

function createTools(options: LauncherOptions, children: Pick<Children, 'start' | 'expectOpen'>): Tools {
  const installs = new Flights<string>();
  return {
    ...options,
    async run(command, name, timeoutMs) {
      const result = await runToEnd(children.start, command, name, timeoutMs);
      if (result.code !== 0) children.expectOpen(name); // stopped, which is no failure of the tool
      return result;
    },
    installOnce: (dir, build) => installs.run(dir, () => installOnce(dir, build)),
  };
}

async function runToEnd(
  start: Start,
  command: Pick<Command, 'file' | 'args' | 'env' | 'cwd'>,
  name: string,
  timeoutMs: number,
): Promise<RunResult> {
  const lines: string[] = [];
  const child = start(
    { ...command, envFiles: {} },
    { name, stdin: false },
    {
      line(line) {
        lines.push(line);
        if (lines.length > STDERR_TAIL_LINES) lines.shift();
      },
    },
    TOOL_GRACE_MS,
  );
  const timer = setTimeout(() => void child.stop(), timeoutMs);
  const [stdout, exit] = await Promise.all([text(child.stdout).catch(() => ''), child.exited]);
  clearTimeout(timer);
  return { ...exit, stdout, stderr: lines.join('\n') };
}

/**
 * Runs `build` unless `dir` is complete. Other processes with the same `dir` wait for it.
 * Within one process call it once per `dir` at a time: the lock distinguishes only processes.
 */
async function installOnce(dir: string, build: () => Promise<void>): Promise<void> {
  await mkdir(dirname(dir), { recursive: true, mode: 0o700 });
  while (!isComplete(dir)) {
    const lock = tryLock(`${dir}.lock`);
    if (!lock.held) {
      await sleep(INSTALL_POLL_MS);
      continue;
    }
    try {
      if (isComplete(dir)) return;
      await rm(dir, { recursive: true, force: true });
      await build();
      await writeFile(markerOf(dir), '');
    } finally {
      lock.release();
    }
  }
}
