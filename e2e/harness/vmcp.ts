import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { raw } from './clients/raw.ts';
import { freePort } from './free-port.ts';
import { eventually } from './poll.ts';
import { descendants, type ProcessInfo } from './process-tree.ts';
import type { Scope } from './scope.ts';

export const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A process of the CLI, with all of its output. */
export interface Run {
  readonly pid: number;
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** Both streams, in the order in which they arrived. */
  readonly output: () => string;
  readonly exited: Promise<Exit>;
  readonly running: () => boolean;
  /** Signals the process only, like `kill` and container engines. */
  signal(signal: NodeJS.Signals): void;
  /** Signals the process group, like a terminal on Ctrl-C. */
  signalGroup(signal: NodeJS.Signals): void;
  /** Sends SIGTERM, and SIGKILL after 40 s. */
  stop(): Promise<Exit>;
  descendants(): Promise<ProcessInfo[]>;
}

export interface Vmcp extends Run {
  /** `http://127.0.0.1:<port>`, without a path. */
  readonly origin: string;
  /** The MCP endpoint. */
  readonly url: string;
  /** `http://127.0.0.1:<port>` of the management listener. */
  readonly management: string;
  readonly port: number;
  readonly managementPort: number;
  readonly state: string;
  readonly folder: string;
}

export interface RunOptions {
  /** Added to PATH, HOME (an empty folder), LANG and the npm cache. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Connects stdin, stdout and stderr to a terminal; all output is in `stdout`. */
  readonly terminal?: boolean;
  /** An installed `vmcp`, in place of that of this checkout. */
  readonly program?: string;
  /** Command that runs the one that follows it, such as `unshare`. */
  readonly launcher?: readonly string[];
}

export interface StartOptions extends RunOptions {
  /** YAML texts by file name, written to a new folder: the argument of `vmcp up`. */
  readonly files?: Readonly<Record<string, string>>;
  /** Arguments of `vmcp up` instead of `files`. */
  readonly paths?: readonly string[];
  /** Further arguments. */
  readonly args?: readonly string[];
  /** State folder; a new one by default. */
  readonly state?: string;
  readonly port?: number;
  readonly managementPort?: number;
  readonly readyTimeoutMs?: number;
}

/** Returns the command of the built CLI, or of the sources when VMCP_FROM_SOURCE is set or there is no build. */
function commandLine(): [file: string, ...args: string[]] {
  const built = existsSync(join(root, 'dist', 'operator', 'cli', 'main.js'));
  if (built && process.env['VMCP_FROM_SOURCE'] === undefined) return [join(root, 'bin', 'vmcp')];
  return [join(root, 'node_modules', 'node', 'bin', 'node'), join(root, 'operator', 'cli', 'main.ts')];
}

/** Returns the command that runs `command` in a pseudo-terminal: `script` of Debian's bsdutils. */
const inTerminal = (command: readonly string[]): string[] => {
  const quoted = command.map((word) => `'${word.replaceAll("'", String.raw`'\''`)}'`).join(' ');
  return ['script', '--quiet', '--flush', '--return', '--command', quoted, '/dev/null'];
};

export async function temporaryFolder(scope: Scope): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'vmcp-e2e-'));
  scope.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }));
  return folder;
}

/** Starts the CLI with these arguments; the end of the scope stops it. */
export const runVmcp = (scope: Scope, args: readonly string[], options: RunOptions = {}): Promise<Run> =>
  runCommand(
    scope,
    [...(options.launcher ?? []), ...(options.program === undefined ? commandLine() : [options.program]), ...args],
    options,
  );

/** Starts a command; the end of the scope stops it and its descendants. */
export async function runCommand(scope: Scope, command: readonly string[], options: RunOptions): Promise<Run> {
  const home = await temporaryFolder(scope);
  const [file = '', ...rest] = options.terminal === true ? inTerminal(command) : command;
  const child = spawn(file, rest, {
    cwd: options.cwd ?? home,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}`,
      HOME: home,
      LANG: 'C.UTF-8',
      npm_config_cache: join(root, '.cache', 'npm'),
      ...options.env,
    },
  });
  const run = follow(child);
  scope.defer(async () => {
    const left = await run.descendants();
    if (run.running()) await run.stop();
    for (const { pid } of left) kill(pid, 'SIGKILL');
  });
  return run;
}

/** Runs the CLI and waits until it ends. */
export async function vmcpResult(
  scope: Scope,
  args: readonly string[],
  options: RunOptions = {},
): Promise<Exit & { stdout: string; stderr: string; output: string }> {
  const run = await runVmcp(scope, args, options);
  const exit = await within(run.exited, 60_000, () => `vmcp ${args.join(' ')} does not end:\n${run.output()}`);
  return { ...exit, stdout: run.stdout(), stderr: run.stderr(), output: run.output() };
}

/** Starts `vmcp up` on free ports and waits until it is ready. */
export async function startVmcp(scope: Scope, options: StartOptions): Promise<Vmcp> {
  const folder = await temporaryFolder(scope);
  if (options.files) await writeFiles(folder, options.files);
  const state = options.state ?? (await temporaryFolder(scope));
  return onFreePorts(options, async ([port, managementPort]) => {
    const listen = ['--port', String(port), '--management-port', String(managementPort), '--state', state];
    const args = ['up', ...(options.paths ?? [folder]), ...listen, ...(options.args ?? [])];
    const run = await runVmcp(scope, args, options);
    return ready({ run, port, managementPort, state, folder }, options.readyTimeoutMs);
  });
}

/** Starts `vmcp gateway --config` on `port`, or a free one, and waits until it is ready. */
export async function startGateway(
  scope: Scope,
  config: string,
  options: RunOptions & { readonly port?: number } = {},
): Promise<Vmcp> {
  const folder = await temporaryFolder(scope);
  const file = join(folder, 'gateway.json');
  await writeFile(file, config);
  return onFreePorts(options, async ([port, managementPort]) => {
    const listen = ['--host', '127.0.0.1', '--port', String(port), '--management-port', String(managementPort)];
    const run = await runVmcp(scope, ['gateway', '--config', file, ...listen], options);
    return ready({ run, port, managementPort, state: folder, folder });
  });
}

/** Starts a program on free ports, where the caller names no other, and again if another program was faster to bind them. */
async function onFreePorts<T>(
  wanted: { readonly port?: number; readonly managementPort?: number },
  start: (ports: readonly [port: number, managementPort: number]) => Promise<T>,
): Promise<T> {
  for (;;) {
    const ports = [wanted.port ?? (await freePort()), wanted.managementPort ?? (await freePort())] as const;
    const chosen = ports.filter((port) => port !== wanted.port && port !== wanted.managementPort);
    try {
      return await start(ports);
    } catch (error) {
      const wasTaken = chosen.some((port) => String(error).includes(`port ${String(port)} is in use`));
      if (!wasTaken) throw error;
    }
  }
}

async function ready(
  { run, port, managementPort, ...places }: Pick<Vmcp, 'port' | 'managementPort' | 'state' | 'folder'> & { run: Run },
  timeoutMs = 60_000,
): Promise<Vmcp> {
  const origin = `http://127.0.0.1:${port}`;
  const isReady = async () => {
    if (!run.running()) return 'ended' as const;
    const { status } = await raw(`${origin}/readyz`, { timeoutMs: 2_000 }); // keeps no connection, for which a stop would wait
    return status === 200 && ('ready' as const);
  };
  const outcome = await eventually('vmcp is ready', isReady, { timeoutMs }).catch((error: unknown) => {
    throw new Error(`vmcp does not become ready:\n${run.output()}`, { cause: error });
  });
  if (outcome === 'ended') throw new Error(`vmcp ended before it was ready:\n${run.output()}`);
  const management = `http://127.0.0.1:${managementPort}`;
  return { ...run, ...places, port, managementPort, origin, url: `${origin}/mcp`, management };
}

export async function writeFiles(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
}

function follow(child: ChildProcess): Run {
  const pid = child.pid ?? -1;
  const streams = { stdout: '', stderr: '', output: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.setEncoding('utf8').on('data', (text: string) => {
      streams[name] += text;
      streams.output += text;
    });
  }
  let running = true;
  const exited = new Promise<Exit>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', () => (running = false));
    child.once('close', (code, signal) => resolve({ code, signal }));
  });
  return {
    pid,
    stdout: () => streams.stdout,
    stderr: () => streams.stderr,
    output: () => streams.output,
    exited,
    running: () => running,
    signal: (signal) => void child.kill(signal),
    signalGroup: (signal) => {
      kill(-pid, signal);
    },
    async stop() {
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), 40_000);
      const exit = await exited;
      clearTimeout(timer);
      return exit;
    },
    descendants: () => descendants(pid),
  };
}

/** Signals a process or, by its negated id, a group; does nothing when it has already ended. */
function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

/** @throws Error with `message()` when `promise` has not settled after `timeoutMs` */
export async function within<T>(promise: Promise<T>, timeoutMs: number, message: () => string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(message())), timeoutMs);
  });
  return Promise.race([promise, late]).finally(() => {
    clearTimeout(timer);
  });
}
