import type { Store } from '../storage/store.ts';
import type { RegistrationStore } from '../upstream/upstream.ts';

/** Longer than a registration with discovery may take. */
const LOCK_MS = 30_000;

/** Returns the store of registrations at providers. */
export function registrationStore({ registrations, locks }: Pick<Store, 'registrations' | 'locks'>): RegistrationStore {
  return {
    get: (key) => registrations.get(key),
    put: (key, text) => registrations.put(key, text),
    delete: (key) => registrations.delete(key),
    async exclusively(key, work) {
      const lock = await locks.acquire(`registration:${key}`, LOCK_MS);
      if (!lock) return undefined;
      try {
        return await work();
      } finally {
        await locks.release(lock);
      }
    },
  };
}
