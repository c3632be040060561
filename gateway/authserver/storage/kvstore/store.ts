import type { KeyValueStore } from '../../../kvstore/key-value-store.ts';
import { kvstoreClients, kvstoreUsers } from './clients.ts';
import { kvstoreCodes, kvstoreTransactions } from './codes.ts';
import { kvstoreFamilies } from './families.ts';
import { kvstoreLocks, kvstoreRates } from './locks.ts';
import { Records } from './sealed-records.ts';
import { kvstoreUpstreamTokens } from './upstream-rows.ts';
import type { Sealer } from '../sealing.ts';
import type { Store } from '../store.ts';

/**
 * Everything in a key-value store, seen by all processes that share it; see STORAGE.md. `close` closes `store` too.
 * @param now ms since the epoch.
 */
export function kvstoreStore(store: KeyValueStore, sealer: Sealer, now: () => number): Store {
  const records = new Records(store, sealer, now);
  return {
    transactions: kvstoreTransactions(records),
    codes: kvstoreCodes(records),
    ...kvstoreFamilies(records),
    clients: kvstoreClients(records),
    users: kvstoreUsers(records),
    upstreamTokens: kvstoreUpstreamTokens(records),
    locks: kvstoreLocks(records),
    rates: kvstoreRates(records),
    /** By a key, so that in a cluster the node that holds ours answers. */
    async health() {
      await records.command('EXISTS', records.key('health'));
    },
    close: async () => store.close(),
  };
}
