import type { KeyValueStore } from '../../../kvstore/key-value-store.ts';
import { kvstoreClients, kvstoreUsers } from './clients.ts';
import { kvstoreCodes, kvstoreLoginAttempts } from './codes.ts';
import { kvstoreFamilies } from './families.ts';
import { kvstoreLocks, kvstoreRates } from './locks.ts';
import { kvstoreRegistrations } from './registrations.ts';
import { Records } from './sealed-records.ts';
import { kvstoreUpstreamTokens } from './upstream-rows.ts';
import type { Sealer } from '../sealing.ts';
import type { Store } from '../store.ts';

/**
 * Returns a store on a key-value store, which several processes can share; see STORAGE.md. `close` also closes `store`.
 * @param now ms since the epoch.
 */
export function kvstoreStore(store: KeyValueStore, sealer: Sealer, now: () => number): Store {
  const records = new Records(store, sealer, now);
  return {
    loginAttempts: kvstoreLoginAttempts(records),
    codes: kvstoreCodes(records),
    ...kvstoreFamilies(records),
    clients: kvstoreClients(records),
    users: kvstoreUsers(records),
    upstreamTokens: kvstoreUpstreamTokens(records),
    registrations: kvstoreRegistrations(records),
    locks: kvstoreLocks(records),
    rates: kvstoreRates(records),
    /** Reads a key, so that in a cluster the node with the keys of this virtual server answers. */
    async health() {
      await records.command('EXISTS', records.key('health'));
    },
    close: async () => store.close(),
  };
}
