import type { Readable, Writable } from 'node:stream';
import type { BackendProcess } from '../../contract/gateway-config.ts';

/**
 * Turns a `BackendProcess` into running children, and knows every child it started.
 * `createLauncher` (launcher.ts) makes one; a process has one per state folder.
 */
export interface Launcher {
  /**
   * Finds or installs what `process.image` names. Slow the first time (npm, pip, an image pull), cheap afterwards;
   * concurrent calls for the same image share one install. The result may be spawned any number of times.
   * @throws LaunchError
   */
  prepare(process: BackendProcess, name: string, options?: PrepareOptions): Promise<Command>;
  /**
   * Starts one child in a process group of its own. Its stderr goes to the log, line by line, under `name`.
   * @throws LaunchError `EnvironmentFileUnreadable` when a file of `command.envFiles` cannot be read,
   * `EnvironmentUnsupported` when a container cannot be given a variable
   */
  spawn(command: Command, options: SpawnOptions): Child;
  /** Stops every child that still runs. Nothing can be spawned afterwards. */
  close(graceMs?: number): Promise<void>;
}

export interface PrepareOptions {
  /** Loopback port of an HTTP server; absent for stdio. The server is told it as PORT, MCP_PORT, FASTMCP_PORT. */
  readonly port?: number;
  /** What an HTTP server is told as MCP_TRANSPORT. */
  readonly transport?: 'streamable-http' | 'sse';
}

export interface SpawnOptions {
  /** Workload name, for the log and the process record. */
  readonly name: string;
  /** true: a pipe; false: /dev/null. */
  readonly stdin: boolean;
}

/** What to execute. Plain data: it can be kept and spawned again. */
export interface Command {
  /** Absolute path. */
  readonly file: string;
  readonly args: readonly string[];
  /** The whole environment of the server, except `envFiles`. */
  readonly env: Readonly<Record<string, string>>;
  /** Variable name to the path of a file that holds its value; read at each spawn, one trailing line break dropped. */
  readonly envFiles: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /**
   * Present when `file` is the client of a container engine: `args[0]` is then `run`, and `spawn` names the container
   * and removes it by that name, because a container can outlive its client. `env` and `envFiles` reach the server in a
   * file: in the client's own environment, a variable such as LD_PRELOAD would run the image's code on this machine.
   */
  readonly container?: {
    /** The whole environment of the client. */
    readonly clientEnv: Readonly<Record<string, string>>;
  };
}

export interface Exit {
  /** null when a signal ended it. -1 when it could not be executed at all. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface Child {
  /** Also the id of its process group. -1 when it could not be executed. */
  readonly pid: number;
  /** null unless spawned with `stdin: true`. Errors (EPIPE after an exit) are swallowed here: watch `exited`. */
  readonly stdin: Writable | null;
  readonly stdout: Readable;
  /** Resolves once, never rejects; by then the whole group is gone and stderr has been read. */
  readonly exited: Promise<Exit>;
  /** The last line it wrote to stderr, cut to 500 characters. */
  lastStderr(): string | undefined;
  /** Closes stdin and sends SIGTERM to the group, after `graceMs` (5,000) SIGKILL. Resolves when it is gone; idempotent. */
  stop(graceMs?: number): Promise<void>;
}

export type LaunchReason =
  | 'InvalidImageReference'
  | 'PackageNotFound'
  | 'PackageHasNoBin'
  | 'InstallFailed'
  | 'UvxUnavailable'
  | 'NoContainerEngine'
  | 'ImagePullFailed'
  | 'EnvironmentUnsupported'
  | 'EnvironmentFileUnreadable'
  | 'LauncherClosed';

/** Only another image reference helps: what failed is not tried again. Every other failure may pass. */
const PERMANENT: ReadonlySet<LaunchReason> = new Set(['InvalidImageReference', 'PackageNotFound', 'PackageHasNoBin']);

/** Messages of these quote a tool, whose output may hold the credentials of a registry. */
const QUOTES_TOOL: ReadonlySet<LaunchReason> = new Set(['InstallFailed', 'ImagePullFailed']);

/** Why a workload does not run, fit for `/status`. */
export interface LaunchProblem {
  readonly reason: LaunchReason;
  readonly message: string;
  readonly permanent: boolean;
}

/** Why a workload cannot be started, in one sentence that says what to do. Never holds an environment value. */
export class LaunchError extends Error {
  readonly reason: LaunchReason;

  constructor(reason: LaunchReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'LaunchError';
    this.reason = reason;
  }

  get problem(): LaunchProblem {
    const { reason } = this;
    const message = QUOTES_TOOL.has(reason) ? 'it is tried again, and the log says why it failed' : this.message;
    return { reason, message, permanent: PERMANENT.has(reason) };
  }
}
