import type { Lock, Locks } from '../storage/store.ts';

/** After this time a holder that has died stands in nobody's way. */
const LOCK_MS = 15_000;
const RENEW_EVERY_MS = 5_000;

/** The lock of one row, held as long as its work takes. */
export class RowLock {
  readonly #locks: Locks;
  #lock: Lock;
  #timer: NodeJS.Timeout;

  /** Undefined: somebody else holds it. Rejects with `StoreUnavailable`. */
  static async acquire(locks: Locks, name: string): Promise<RowLock | undefined> {
    const lock = await locks.acquire(name, LOCK_MS);
    return lock && new RowLock(locks, lock);
  }

  private constructor(locks: Locks, lock: Lock) {
    this.#locks = locks;
    this.#lock = lock;
    this.#timer = setInterval(() => {
      locks.renew(this.#lock, LOCK_MS).catch(() => undefined); // whoever writes finds out
    }, RENEW_EVERY_MS).unref();
  }

  get current(): Lock {
    return this.#lock;
  }

  /** It had run out: takes it again, if nobody else has. Rejects with `StoreUnavailable`. */
  async regain(): Promise<void> {
    this.#lock = (await this.#locks.acquire(this.#lock.name, LOCK_MS)) ?? this.#lock;
  }

  async release(): Promise<void> {
    clearInterval(this.#timer);
    await this.#locks.release(this.#lock).catch(() => undefined); // it runs out by itself
  }
}
