import { spawn, type ChildProcessByStdio, type StdioOptions } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { basename } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { removeEnvFile, writeEnvFile } from './owned-entries.ts';
import { readEnvironmentFiles, type Environment } from '../environment.ts';
import { isEngineOutage } from '../engine-outage.ts';
import { guardEntry, type Guard } from './guard.ts';
import { readLines, type LineListener } from '../lines.ts';
import { identityOf, isAlive, startTime } from './process-lock.ts';
import { removeContainerByName, signalGroup } from './reaper.ts';
import { readRecords, removeRecord, writeRecord } from './records.ts';
import type { Child, Command, Exit, SpawnOptions } from '../runner.ts';
import { stderrCause, type StderrCause } from './stderr-cause.ts';
import { isSecretName } from '../../../telemetry/secret-members.ts';
import { within } from '../../../kit/time.ts';

export interface ProcessTable {
  readonly stateDir: string;
  readonly hostEnv: Environment;
  readonly guard: Guard;
  /** Containers that could not be removed, because their engine did not respond. */
  readonly leftovers: Set<Leftover>;
}

export interface Leftover {
  /** Workload whose container it is. */
  readonly workload: string;
  readonly engine: string;
  readonly name: string;
  /** Removes the process record, which the reaper needs until then. */
  readonly forget: () => void;
}

/** Child and the name of its container, if it has one. */
export interface StartedChild extends Child {
  readonly containerName?: string;
}

type Spawned = ChildProcessByStdio<Writable | null, Readable, Readable>;

const STOP_GRACE_MS = 5_000;
const LAST_LINE_LENGTH = 500;

/** Starts `command` as leader of a process group and registers it with guard and reaper. stderr goes to `listener`. */
export function startProcess(
  command: Command,
  { name, stdin }: SpawnOptions,
  table: ProcessTable,
  listener: LineListener,
): StartedChild {
  const { args, env, container, secrets } = executable(command, name, table.stateDir);
  const spawned = execute({ ...command, args, env }, stdin, container);
  const pid = spawned.pid ?? -1;
  const { endGuard, forget } =
    pid === -1 ? NOT_STARTED : remember(pid, name, [command.file, ...args], container, table);
  const cause = stderrCause(secrets);
  const last = keepLastLine(spawned.stderr, withCause(listener, cause), container !== undefined);
  let hasFailed = true;
  const exited = watchExit(spawned, pid, last).then(async (exit) => {
    hasFailed = exit.code !== 0 && exit.code !== null;
    if (container) removeEnvFile(container.envFile);
    const gone = !container || (await removeContainerByName(container, table.hostEnv));
    endGuard();
    if (gone) forget();
    else table.leftovers.add({ ...container, workload: name, forget });
    return exit;
  });
  return {
    pid,
    ...(container && { containerName: container.name }),
    stdin: spawned.stdin,
    stdout: spawned.stdout,
    exited,
    lastStderr: () => last.text,
    stderrCause: () => (pid === -1 ? last.text : cause.cause(hasFailed)),
    stop: (graceMs = STOP_GRACE_MS) => stop(spawned, pid, exited, graceMs),
  };
}

/** Returns the containers that an earlier process has left, because their engine did not respond to the reaper. */
export const readLeftovers = (stateDir: string): Leftover[] =>
  readRecords(stateDir).flatMap(({ pid, name, owner, container }) => {
    if (!container || isAlive(owner)) return [];
    return [{ ...container, workload: name, forget: () => removeRecord(stateDir, pid) }];
  });

/**
 * Tries again to remove containers, such as relays whose server existed still: those of one workload, or all. Returns false
 * when one may still exist.
 */
export async function removeLeftovers(
  { leftovers, hostEnv }: Pick<ProcessTable, 'leftovers' | 'hostEnv'>,
  workload?: string,
): Promise<boolean> {
  const concerned = [...leftovers].filter((one) => workload === undefined || one.workload === workload);
  for (const leftover of concerned) {
    if (!(await removeContainerByName(leftover, hostEnv))) continue;
    leftover.forget();
    leftovers.delete(leftover);
  }
  return concerned.every((one) => !leftovers.has(one));
}

interface StartedContainer {
  /** Name of the client, for the record. */
  readonly engine: string;
  readonly name: string;
  readonly envFile: string;
  readonly isRelay: boolean;
}

/** Returns arguments and environment of the process: the server, or the client that starts its container. */
function executable(
  command: Command,
  name: string,
  stateDir: string,
): Pick<Command, 'args' | 'env'> & { readonly container?: StartedContainer; readonly secrets: readonly string[] } {
  const { file, args, container } = command;
  const fromFiles = readEnvironmentFiles(command.envFiles);
  const env = { ...command.env, ...fromFiles };
  const named = Object.entries(command.env).flatMap(([variable, value]) => (isSecretName(variable) ? [value] : []));
  const secrets = [...Object.values(fromFiles), ...named, ...secretArguments(args)];
  if (!container) return { args, env, secrets };
  const { clientEnv, isRelay = false } = container;
  const envFile = writeEnvFile(stateDir, env);
  const started = { engine: basename(file), name: containerName(name), envFile, isRelay };
  return {
    args: ['run', '--name', started.name, '--env-file', started.envFile, ...args.slice(1)],
    env: clientEnv,
    container: started,
    secrets,
  };
}

/** Returns the values of options with the name of a secret: `--api-key VALUE` and `--api-key=VALUE`. */
const secretArguments = (args: readonly string[]): string[] =>
  args.flatMap((arg, index) => {
    const [option = '', ...value] = arg.split('=');
    if (!option.startsWith('-') || !isSecretName(option)) return [];
    return value.length > 0 ? [value.join('=')] : args.slice(index + 1, index + 2);
  });

function execute({ file, args, env, cwd }: Command, stdin: boolean, container: StartedContainer | undefined): Spawned {
  const stdio: StdioOptions = [stdin ? 'pipe' : 'ignore', 'pipe', 'pipe'];
  try {
    // The tuple determines the streams; the overloads of spawn cannot express `stdin`.
    const spawned = spawn(file, args, { env, stdio, detached: true, ...(cwd !== undefined && { cwd }) }) as Spawned;
    spawned.stdin?.on('error', () => undefined);
    return spawned;
  } catch (error) {
    if (container) removeEnvFile(container.envFile);
    throw error;
  }
}

/** Returns a container name: the workload's name with a suffix that is unique per child. */
const containerName = (name: string): string =>
  `vmcp-${name.replaceAll(/[^a-zA-Z0-9_.-]/g, '-')}-${randomUUID().slice(0, 8)}`;

interface Registration {
  readonly endGuard: () => void;
  readonly forget: () => void;
}

const NOT_STARTED: Registration = { endGuard: () => undefined, forget: () => undefined };

/** Registers the child with guard and reaper. */
function remember(
  pid: number,
  name: string,
  command: readonly string[],
  container: StartedContainer | undefined,
  { stateDir, guard }: ProcessTable,
): Registration {
  const entry = guardEntry(pid, container);
  guard.add(entry);
  const own = { pid, pgid: pid, startTime: startTime(pid) ?? 'unknown', name, command, owner: identityOf(process.pid) };
  if (container) {
    const { engine, name: containerName, isRelay } = container;
    writeRecord(stateDir, { ...own, container: { engine, name: containerName, ...(isRelay && { isRelay }) } });
  } else writeRecord(stateDir, own);
  return {
    endGuard: () => {
      guard.remove(entry);
    },
    forget: () => {
      removeRecord(stateDir, pid);
    },
  };
}

/** Returns a listener that also passes each line to `cause`. */
const withCause = (listener: LineListener, cause: StderrCause): LineListener => ({
  line(text) {
    cause.line(text);
    listener.line(text);
  },
  dropped: (count) => listener.dropped?.(count),
});

/** A client of a container engine writes advice after the line about an engine that has stopped: that line stays. */
function keepLastLine(stderr: Readable, listener: LineListener, isClient: boolean): { text: string | undefined } {
  const last: { text: string | undefined } = { text: undefined };
  readLines(stderr, {
    line(text) {
      if (!isClient || !isEngineOutage(last.text)) last.text = text.slice(0, LAST_LINE_LENGTH);
      listener.line(text);
    },
    dropped: (count) => listener.dropped?.(count),
  });
  return last;
}

/** Waits until the leader has ended, the rest of its group is killed and stderr is read. */
async function watchExit(spawned: Spawned, pid: number, last: { text: string | undefined }): Promise<Exit> {
  const exit = await new Promise<Exit>((resolve) => {
    spawned.once('exit', (code, signal) => resolve({ code, signal }));
    spawned.once('error', (error) => {
      if (spawned.pid !== undefined) return;
      last.text = error.message;
      resolve({ code: -1, signal: null });
    });
  });
  if (pid === -1) return exit;
  signalGroup(pid, 'SIGKILL');
  // A grandchild that left the group can keep stderr open for ever.
  if (!spawned.stderr.closed) await within(500, once(spawned.stderr, 'close'), undefined);
  return exit;
}

/** Time between the end of stdin, at which a server ends by itself, and SIGTERM. @see MCP 2025-11-25, basic/lifecycle, Shutdown */
const END_OF_INPUT_MS = 1_000;

async function stop(spawned: Spawned, pid: number, exited: Promise<Exit>, graceMs: number): Promise<void> {
  if (pid !== -1 && spawned.exitCode === null && spawned.signalCode === null) {
    const terminate = () => signalGroup(pid, 'SIGTERM');
    const { stdin } = spawned;
    stdin?.end();
    if (!stdin) terminate();
    const patience = stdin && setTimeout(terminate, Math.min(END_OF_INPUT_MS, graceMs / 2));
    const grace = setTimeout(() => signalGroup(pid, 'SIGKILL'), graceMs);
    await exited.finally(() => {
      clearTimeout(patience ?? undefined);
      clearTimeout(grace);
    });
  }
  await exited;
}
