import { execFile } from 'node:child_process';
import type { Running } from '../../local/state.ts';
import type { BackendProcess } from '../../../gateway/contract/gateway-config.ts';
import type { ObjectProblem, ObjectRef } from '../../resolve/scope.ts';
import type { NamedSubject, Subject } from '../online/online-check.ts';
import type { Get } from '../online/probes.ts';
import type { ServerStatus } from '../status/gateway-status.ts';
import { findOnPath } from '../../../gateway/workloads/runner/schemes/path.ts';
import { respondingEngine } from '../../local/container-engine.ts';

/** Result of a check. The message of `warn` and `fail` says how to fix it. */
export interface Finding {
  readonly state: 'ok' | 'warn' | 'fail';
  readonly message: string;
}

/** One line of `vmcp doctor`. Never rejects. */
export interface Check<Facts = Machine> {
  readonly name: string;
  run(facts: Facts): Promise<Finding> | Finding;
}

/** Programs on this machine that start servers. */
export interface Programs {
  /** Returns the path of a program. */
  readonly find: (program: string) => string | undefined;
  /** Runs a program and returns true when it exits with 0. */
  readonly succeeds: (file: string, args: readonly string[]) => Promise<boolean>;
  /** Returns `docker` or `podman` when it responds. */
  readonly respondingEngine: () => Promise<string | undefined>;
}

/** Server of the files that runs on this machine. */
export interface LocalServer {
  readonly object: ObjectRef;
  readonly process: BackendProcess;
  /** Package or image to download; absent for a program of this machine. */
  readonly subject?: Subject;
}

/** Facts of the machine that the checks read. */
export interface Machine extends Programs {
  readonly nodeVersion: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stateDir: string;
  /** Running `vmcp up` of the state folder; undefined when none runs. */
  readonly running: Running | undefined;
  /** Issuers, endpoints and scopes of identity providers in the files of the command line. */
  readonly providers: readonly NamedSubject[];
  /** Servers in those files. */
  readonly servers: readonly LocalServer[];
  /** Returns true for a server that starts without a download. @throws LaunchError */
  readonly isInstalled: (process: BackendProcess) => boolean;
  /** Returns the file, the line and the path of a field in those files. */
  readonly placeOf: (problem: ObjectProblem) => string;
  readonly isPortFree: (port: number) => Promise<boolean>;
  /** Returns the error code when this user cannot write into the folder or create it. */
  readonly writeFault: (dir: string) => Promise<string | undefined>;
  readonly get: Get;
  /** Reads the state of the virtual servers behind a management URL. Rejects with `StatusError`. */
  readonly serversAt: (managementUrl: string) => Promise<readonly ServerStatus[]>;
  /** ms since the epoch. */
  readonly now: () => number;
}

export const ok = (message: string): Finding => ({ state: 'ok', message });
export const warn = (message: string): Finding => ({ state: 'warn', message });
export const fail = (message: string): Finding => ({ state: 'fail', message });

const TIMEOUT_MS = 15_000;

/** Returns the programs of this machine. */
export const programsOf = (env: Readonly<Record<string, string | undefined>>): Programs => ({
  find: (program) => findOnPath(program, env),
  succeeds: (file, args) =>
    new Promise((done) => {
      execFile(file, args, { timeout: TIMEOUT_MS }, (error) => {
        done(error === null);
      });
    }),
  respondingEngine: () => respondingEngine(env),
});
