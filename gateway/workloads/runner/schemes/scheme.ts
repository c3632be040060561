import type { BackendProcess } from '../../../contract/gateway-config.ts';
import type { Environment } from '../environment.ts';
import type { Command, Exit, PrepareOptions } from '../runner.ts';
import type { InstallDisplay } from './install-progress.ts';
import type { Logger } from '../../../contract/logger.ts';

/** One way to run an image reference. A new one needs a file and a line in index.ts. */
export interface Scheme {
  readonly prefix: string;
  /** Checks a reference. Pure. @throws LaunchError `InvalidImageReference` */
  check(image: string): void;
  /** Prepares the command. @throws LaunchError */
  prepare(process: BackendProcess, request: PrepareRequest, tools: Tools): Promise<Command>;
  /**
   * Returns true when `prepare` finds the program on this machine, without a download. Absent where only an engine knows.
   * @throws LaunchError
   */
  isInstalled?(process: BackendProcess, place: Place): boolean;
}

export interface PrepareRequest extends PrepareOptions {
  readonly name: string;
}

/** Place of programs on this machine. */
export interface Place {
  readonly stateDir: string;
  /** Folder where the search for `node_modules` starts. */
  readonly projectRoot: string;
  readonly hostEnv: Environment;
}

/** Tools with which a scheme prepares a command. */
export interface Tools extends Place {
  readonly log: Pick<Logger, 'warn' | 'info'>;
  /** Shows installations. Without a display, they are lines of the log. */
  readonly display?: InstallDisplay | undefined;
  /** Runs a tool to its end, guarded like a workload. */
  run(command: Pick<Command, 'file' | 'args' | 'env' | 'cwd'>, name: string, timeoutMs: number): Promise<RunResult>;
  /**
   * Ensures that `dir` contains the result of `build`. Concurrent calls, also of other processes, build once; the rest of
   * a failed or killed build is removed before the next.
   */
  installOnce(dir: string, build: () => Promise<void>): Promise<void>;
}

export interface RunResult extends Exit {
  readonly stdout: string;
  /** Last 200 lines. */
  readonly stderr: string;
}
