import type { Lock, Locks } from '../storage/store.ts';

/** Time after which the lock of a crashed holder expires. */
const LOCK_MS = 15_000;
const RENEW_EVERY_MS = 5_000;

/** Lock of one row, renewed until it is released. */
export class RowLock {
  readonly #locks: Locks;
  #lock: Lock;
  #timer: NodeJS.Timeout;

  /** Returns undefined while another holder has the lock. Rejects with `StoreUnavailable`. */
  static async acquire(locks: Locks, name: string): Promise<RowLock | undefined> {
    const lock = await locks.acquire(name, LOCK_MS);
    return lock && new RowLock(locks, lock);
  }

  private constructor(locks: Locks, lock: Lock) {
    this.#locks = locks;
    this.#lock = lock;
    this.#timer = setInterval(() => {
      locks.renew(this.#lock, LOCK_MS).catch(() => undefined); // a later write with the lost lock fails
    }, RENEW_EVERY_MS).unref();
  }

  get current(): Lock {
    return this.#lock;
  }

  /** Acquires an expired lock again, unless another holder has it. Rejects with `StoreUnavailable`. */
  async regain(): Promise<void> {
    this.#lock = (await this.#locks.acquire(this.#lock.name, LOCK_MS)) ?? this.#lock;
  }

  async release(): Promise<void> {
    clearInterval(this.#timer);
    await this.#locks.release(this.#lock).catch(() => undefined); // it expires by itself
  }
}
