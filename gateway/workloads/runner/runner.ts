import type { Readable, Writable } from 'node:stream';
import type { ContainerIsolation } from '../../contract/container.ts';
import type { BackendProcess } from '../../contract/gateway-config.ts';

/**
 * Starts the processes of a `BackendProcess` and tracks every child.
 * `createLauncher` (launcher.ts) creates it; a process has one per state folder.
 */
export interface Launcher {
  /**
   * Finds or installs the image of a process. Slow the first time (npm, pip, an image pull), fast afterwards;
   * concurrent calls for the same image share one install. The result may be spawned any number of times.
   * @throws LaunchError
   */
  prepare(process: BackendProcess, name: string, options?: PrepareOptions): Promise<Command>;
  /**
   * Starts one child in a process group of its own. Its stderr goes to the log, line by line, under `name`.
   * @throws LaunchError `EnvironmentFileUnreadable` when a file of `command.envFiles` cannot be read,
   * `EnvironmentUnsupported` when a container engine does not support a variable
   */
  spawn(command: Command, options: SpawnOptions): Child;
  /** Removes what an outage of the engine has left of a workload's containers. Returns false while one may still exist. */
  removeContainers(name: string): Promise<boolean>;
  /** Stops every running child. Nothing can be spawned afterwards. */
  close(graceMs?: number): Promise<void>;
}

export interface PrepareOptions {
  /** Loopback port of an HTTP server; absent for stdio. Passed to the server as PORT, MCP_PORT and FASTMCP_PORT. */
  readonly port?: number;
  /** Value of MCP_TRANSPORT for an HTTP server. */
  readonly transport?: 'streamable-http' | 'sse';
}

export interface SpawnOptions {
  /** Workload name, for the log and the process record. */
  readonly name: string;
  /** True for a pipe, false for /dev/null. */
  readonly stdin: boolean;
  /** Gets each line of stderr, besides the log. */
  readonly onLine?: ((line: string) => void) | undefined;
}

/** Command to execute. Plain data, which can be stored and spawned again. */
export interface Command {
  /** Absolute path. */
  readonly file: string;
  readonly args: readonly string[];
  /** Complete environment of the server, except `envFiles`. */
  readonly env: Readonly<Record<string, string>>;
  /** Files with the values of variables, by name. Read at each spawn; one trailing line break is removed. */
  readonly envFiles: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /**
   * Present when `file` is the client of a container engine: `args[0]` is then `run`, and `spawn` names the container
   * and removes it by that name, because a container can outlive its client. `env` and `envFiles` reach the server in a
   * file: in the client's own environment, a variable such as LD_PRELOAD would run the image's code on this machine.
   */
  readonly container?: {
    /** Complete environment of the client. */
    readonly clientEnv: Readonly<Record<string, string>>;
    /** Present for an isolated network, which `spawn` creates and removes with the container. */
    readonly network?: IsolatedNetwork;
    /** True for the relay of an isolated network. */
    readonly isRelay?: boolean;
  };
}

/** Network of one container that reaches others only through proxies of this process. See docs/workloads/isolation.md. */
export interface IsolatedNetwork {
  readonly image: string;
  readonly labels: readonly string[];
  readonly isolation: ContainerIsolation;
  /** Port of the outbound proxy in the network; absent when there is none. */
  readonly proxyPort?: number;
  /** Port of the MCP endpoint on 127.0.0.1 and in the network; absent for stdio. */
  readonly endpoint?: PortPair;
  /** Other ports, forwarded as bytes. */
  readonly published: readonly PortPair[];
}

export interface PortPair {
  readonly port: number;
  readonly targetPort: number;
}

export interface Exit {
  /** null when a signal ended it. -1 when it could not be executed at all. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Line of stderr that names the cause, without the values of its secrets; absent where none does. */
  readonly line?: string | undefined;
}

/** Returns the end of a process in words, for users. */
export function processEnd({ code, signal, line }: Exit): string {
  const how =
    code === -1
      ? 'could not be executed'
      : `ended ${code === null ? `by ${String(signal)}` : `with code ${String(code)}`}`;
  return `the process ${how}${line === undefined ? '' : `: ${line}`}`;
}

export interface Child {
  /** Also the id of its process group. -1 when it could not be executed. */
  readonly pid: number;
  /** null unless spawned with `stdin: true`. Errors (EPIPE after an exit) are ignored here: watch `exited`. */
  readonly stdin: Writable | null;
  readonly stdout: Readable;
  /** Resolves once and never rejects, when the whole group is gone and stderr is read. */
  readonly exited: Promise<Exit>;
  /** Last line on stderr, cut to 500 characters. */
  lastStderr(): string | undefined;
  /** Line on stderr that names the cause of the end, without the values of the child's secrets. */
  stderrCause(): string | undefined;
  /**
   * Closes stdin, sends SIGTERM to the group a second later and after `graceMs` (5,000) SIGKILL. Without stdin SIGTERM comes at once.
   * Resolves at the end. Idempotent.
   */
  stop(graceMs?: number): Promise<void>;
}

export type LaunchReason =
  | 'InvalidImageReference'
  | 'PackageNotFound'
  | 'PackageHasNoBin'
  | 'InstallFailed'
  | 'UvxUnavailable'
  | 'PythonNotFound'
  | 'ProgramNotFound'
  | 'NoContainerEngine'
  | 'ImageNotFound'
  | 'ImagePullFailed'
  | 'IsolationUnavailable'
  | 'MountNotFound'
  | 'MountRefused'
  | 'EnvironmentUnsupported'
  | 'EnvironmentFileUnreadable'
  | 'CrashLoop'
  | 'LauncherClosed';

/** Permanent failures, which need another image reference or other settings. All other failures are retried. */
const PERMANENT: ReadonlySet<LaunchReason> = new Set([
  'InvalidImageReference',
  'PackageNotFound',
  'PackageHasNoBin',
  'CrashLoop',
  'ImageNotFound',
  'IsolationUnavailable',
  'MountRefused',
]);

/** Reasons whose messages quote a tool. Its output can contain credentials of a registry. */
const QUOTES_TOOL: ReadonlySet<LaunchReason> = new Set(['InstallFailed', 'ImagePullFailed']);

/** Reason why a workload does not run, safe for `/status`. */
export interface LaunchProblem {
  readonly reason: LaunchReason;
  readonly message: string;
  readonly permanent: boolean;
}

/** Step of a process that was never ready: its package or image is being installed, or it was just started. */
export type StartPhase = 'installing' | 'starting';

/** A process that ended, or could not be started, and is started again. */
export interface Restart {
  /** Number of the restart in a row, from 1. 0 when the process could not be started because its engine is down. */
  readonly number: number;
  /** Number of the last restart in a row. */
  readonly last: number;
  readonly exit?: Exit | undefined;
  /** Reason why it could not be started last. */
  readonly problem?: LaunchProblem | undefined;
  /** True once it accepts requests again. It counts as restarted only after an answer. */
  readonly isOpen: boolean;
}

/** State of a process that vmcp starts. Both absent: it runs, or ended after it was ready. */
export interface LaunchState {
  readonly phase?: StartPhase | undefined;
  /** Reason why it could not be started last. */
  readonly problem?: LaunchProblem | undefined;
  /** Present after a managed process has ended, until it has run for some time again. */
  readonly restart?: Restart | undefined;
  /** End of a process that is not running again yet. */
  readonly exit?: Exit | undefined;
}

/** A workload cannot be started. The message has advice and never an environment value. */
export class LaunchError extends Error {
  readonly reason: LaunchReason;
  readonly #shown: string | undefined;

  /** `shown` replaces a message that quotes a tool, for `/status`: it contains no credential. */
  constructor(reason: LaunchReason, message: string, options?: ErrorOptions & { readonly shown?: string }) {
    super(message, options);
    this.name = 'LaunchError';
    this.reason = reason;
    this.#shown = options?.shown;
  }

  get problem(): LaunchProblem {
    const { reason } = this;
    const hidden = 'the start is retried, and the log has the reason';
    const message = QUOTES_TOOL.has(reason) ? (this.#shown ?? hidden) : this.message;
    return { reason, message, permanent: PERMANENT.has(reason) };
  }
}
