import { setTimeout as sleep } from 'node:timers/promises';
import { tryLock } from '../../../workloads/runner/process/process-lock.ts';
import { SecretsFailure } from '../secrets-failure.ts';

const RETRY_MS = 20;
/** Maximum wait for the lock. No change takes that long, even on a busy machine. */
const MAX_WAIT_MS = 10_000;

/** Lets one change at a time run, in this process and in others that use the same lock file. */
export class FileLock {
  readonly #path: string;
  /** Settles when all queued changes of this process are done. */
  #tail: Promise<unknown> = Promise.resolve();

  constructor(path: string) {
    this.#path = path;
  }

  /** Runs a change while it holds the lock. @throws SecretsFailure if another process does not release the lock in time */
  hold<Result>(run: () => Promise<Result>): Promise<Result> {
    const result = this.#tail.then(async () => {
      const release = await this.#take();
      try {
        return await run();
      } finally {
        release();
      }
    });
    this.#tail = result.catch(() => undefined);
    return result;
  }

  async #take(): Promise<() => void> {
    const deadline = performance.now() + MAX_WAIT_MS;
    for (;;) {
      const attempt = tryLock(this.#path);
      if (attempt.held) return attempt.release;
      if (performance.now() > deadline) {
        const holder = String(attempt.holder.pid);
        throw new SecretsFailure(
          'unavailable',
          `the lock ${this.#path} is held by process ${holder}: wait until it is done, or stop it`,
        );
      }
      await sleep(RETRY_MS);
    }
  }
}
