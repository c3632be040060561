import { setTimeout as sleep } from 'node:timers/promises';
import { tryLock } from '../../../workloads/runner/process/process-lock.ts';
import { SecretsFailure } from '../secrets-failure.ts';

const RETRY_MS = 20;
/** Longer than any change takes, also on a busy machine. */
const MAX_WAIT_MS = 10_000;

/** Lets one change at a time run, in this process and in others that use the same lock file. */
export class FileLock {
  readonly #path: string;
  /** Settles when all changes of this process so far are done. */
  #tail: Promise<unknown> = Promise.resolve();

  constructor(path: string) {
    this.#path = path;
  }

  /** @throws SecretsFailure if another process keeps the lock */
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
        throw new SecretsFailure(`${this.#path} is held by process ${holder}: wait until it is done, or stop it`);
      }
      await sleep(RETRY_MS);
    }
  }
}
