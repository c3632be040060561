import { ExpiringMap } from '../../kit/cache.ts';
import type { LoginAttempt } from './records.ts';
import type { LoginAttempts } from './store.ts';

/** Limits of the login attempts that a browser has opened, and of those that none has. */
export interface LoginAttemptLimits {
  readonly total: number;
  /** Most of one client address, if it is known. */
  readonly perAddress: number;
}

/** Leaves nine tenths of the room to other addresses. An address that many users share has room for a whole company. */
export const LOGIN_ATTEMPT_LIMITS: LoginAttemptLimits = { total: 10_000, perAddress: 1_000 };

/**
 * Keeps login attempts, and limits those that a browser has opened apart from the others. The store never drops one: an
 * attempt for which there is no room is kept by the browser, sealed.
 */
export function memoryLoginAttempts(now: () => number, limits: LoginAttemptLimits): LoginAttempts {
  const unopened = new LimitedAttempts(now, limits);
  const opened = new LimitedAttempts(now, limits);
  return {
    async put(handle, attempt, ttlMs) {
      if (unopened.kept.has(handle) || opened.kept.has(handle)) return false;
      return (attempt.cookieHash === undefined ? unopened : opened).put(handle, attempt, ttlMs);
    },
    get: async (handle) => unopened.kept.get(handle) ?? opened.kept.get(handle),
    take: async (handle) => unopened.kept.take(handle) ?? opened.kept.take(handle),
    async takeOwn(handle, cookieHashes) {
      const attempt = unopened.kept.get(handle) ?? opened.kept.get(handle);
      if (!attempt) return { kind: 'unknown' };
      const { leg, cookieHash } = attempt;
      if (!leg || cookieHash === undefined || !cookieHashes.includes(cookieHash)) return { kind: 'foreign', attempt };
      opened.kept.delete(handle);
      return { kind: 'taken', attempt };
    },
  };
}

class LimitedAttempts {
  readonly kept: ExpiringMap<LoginAttempt>;
  readonly #limits: LoginAttemptLimits;
  readonly #byAddress = new Map<string, number>();

  constructor(now: () => number, limits: LoginAttemptLimits) {
    this.#limits = limits;
    this.kept = new ExpiringMap(now, ({ address }) => {
      this.#count(address, -1);
    });
  }

  /** Returns false when there is no room. */
  put(handle: string, attempt: LoginAttempt, ttlMs: number): boolean {
    const { address } = attempt;
    if (ttlMs <= 0 || !this.kept.hasRoom(this.#limits.total) || !this.#hasRoomFor(address)) return false;
    this.kept.set(handle, attempt, ttlMs);
    this.#count(address, 1);
    return true;
  }

  #hasRoomFor(address: string | undefined): boolean {
    if (address === undefined) return true;
    const isFull = (): boolean => (this.#byAddress.get(address) ?? 0) >= this.#limits.perAddress;
    if (isFull()) this.kept.sweep();
    return !isFull();
  }

  #count(address: string | undefined, difference: 1 | -1): void {
    if (address === undefined) return;
    const count = (this.#byAddress.get(address) ?? 0) + difference;
    if (count === 0) this.#byAddress.delete(address);
    else this.#byAddress.set(address, count);
  }
}
