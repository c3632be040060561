import type { BackendProcess } from '../../../contract/gateway-config.ts';
import type { Environment } from '../environment.ts';
import type { Command, Exit, PrepareOptions } from '../runner.ts';
import type { Logger } from '../../../contract/logger.ts';

/** One way to run an image reference. Adding one: a file, and a line in index.ts. */
export interface Scheme {
  readonly prefix: string;
  /** Pure. @throws LaunchError `InvalidImageReference` */
  check(image: string): void;
  /** @throws LaunchError */
  prepare(process: BackendProcess, request: PrepareRequest, tools: Tools): Promise<Command>;
}

export interface PrepareRequest extends PrepareOptions {
  readonly name: string;
}

/** What a scheme may use to prepare a command. */
export interface Tools {
  readonly stateDir: string;
  /** Where the search for `node_modules` begins. */
  readonly projectRoot: string;
  readonly hostEnv: Environment;
  readonly log: Pick<Logger, 'warn' | 'info'>;
  /** Runs a tool to its end; it is guarded like any workload. */
  run(command: Pick<Command, 'file' | 'args' | 'env' | 'cwd'>, name: string, timeoutMs: number): Promise<RunResult>;
  /**
   * Makes sure that `dir` holds what `build` makes in it. Concurrent calls, also of other processes, build once;
   * what a failed or killed build left is removed before the next.
   */
  installOnce(dir: string, build: () => Promise<void>): Promise<void>;
}

export interface RunResult extends Exit {
  readonly stdout: string;
  /** The last 200 lines. */
  readonly stderr: string;
}
