import { resolve } from 'node:path';
import type { Writable } from 'node:stream';
import type { Logger } from '../contract/logger.ts';
import { openFile, standardOutput } from './destinations.ts';
import { AuditOutput, OUTPUT_LIMITS, type OutputLimits } from './output.ts';

export interface AuditOutputsOptions {
  /** Standard output of the process. */
  readonly stdout: Writable;
  readonly log: Pick<Logger, 'warn' | 'info'>;
  /** Called when the first file is opened, and with false when the last one is closed. */
  readonly onFiles: (any: boolean) => void;
  readonly limits?: OutputLimits | undefined;
}

interface Shared {
  readonly output: AuditOutput;
  users: number;
}

/** A shared output. `release` closes it when nobody uses it any more. */
export interface HeldOutput {
  readonly output: AuditOutput;
  release(): Promise<void>;
}

const STDOUT_NAMES: ReadonlySet<string> = new Set(['', '/dev/stdout', '/proc/self/fd/1', '/dev/fd/1']);
const STDOUT = '';

/** Outputs of all audit logs of the process: one for each file, and one for standard output. */
export class AuditOutputs {
  readonly #options: AuditOutputsOptions;
  readonly #shared = new Map<string, Shared>();

  constructor(options: AuditOutputsOptions) {
    this.#options = options;
  }

  /** Opens the output of a log file; without one, standard output. Rejects with `AuditUnusable`. */
  async open(logFile = STDOUT): Promise<HeldOutput> {
    const key = STDOUT_NAMES.has(logFile) ? STDOUT : resolve(logFile);
    const shared = this.#shared.get(key) ?? (await this.#create(key));
    shared.users += 1;
    return {
      output: shared.output,
      release: async () => {
        shared.users -= 1;
        if (shared.users > 0) return;
        this.#shared.delete(key);
        if (key !== STDOUT && !this.#hasFiles()) this.#options.onFiles(false);
        await shared.output.close();
      },
    };
  }

  /** Opens every file again, because a program that rotates logs has renamed them. */
  reopen(): void {
    for (const { output } of this.#shared.values()) output.reopen();
  }

  async #create(key: string): Promise<Shared> {
    const { stdout, log, limits = OUTPUT_LIMITS, onFiles } = this.#options;
    const destination = key === STDOUT ? standardOutput(stdout) : await openFile(key);
    const present = this.#shared.get(key);
    if (present) {
      await destination.close();
      return present;
    }
    if (key !== STDOUT && !this.#hasFiles()) onFiles(true);
    const shared = { output: new AuditOutput(destination, log, limits), users: 0 };
    this.#shared.set(key, shared);
    return shared;
  }

  #hasFiles(): boolean {
    return [...this.#shared.keys()].some((key) => key !== STDOUT);
  }
}
