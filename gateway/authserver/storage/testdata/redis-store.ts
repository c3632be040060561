import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../../../../e2e/harness/poll.ts';
import { openKeyValueStore } from '../../../kvstore/open.ts';
import type { KeyValueServers, KeyValueSettings } from '../../../kvstore/settings.ts';
import { kvstoreStore } from '../kvstore/store.ts';
import { createSealer } from '../sealing.ts';
import type { Store } from '../store.ts';
import type { Fixture } from './fixture.ts';
import { unique } from './samples.ts';
import type { Logger } from '../../../contract/logger.ts';

/** Permissions that STORAGE.md lists. */
export const PERMISSIONS =
  '-@all +get +set +del +pexpire +pttl +exists +sadd +srem +smembers +@sortedset +@hash +eval +evalsha +info +select';

export const silent: Pick<Logger, 'warn' | 'info'> = { warn: () => undefined, info: () => undefined };
const secrets = [Buffer.alloc(32, 'secret of the tests')];

export const settingsOf = (servers: KeyValueServers, over: Partial<KeyValueSettings> = {}): KeyValueSettings => ({
  servers,
  db: 0,
  keyPrefix: `vmcp:auth:{${unique()}}:`,
  connectTimeoutMs: 5_000,
  replyTimeoutMs: 3_000,
  ...over,
});

export const single = (port: number): KeyValueServers => ({ kind: 'single', address: { host: '127.0.0.1', port } });

/** Opens a store and waits until it answers. */
export async function redisStore(settings: KeyValueSettings, ring: readonly Uint8Array[] = secrets): Promise<Store> {
  const store = kvstoreStore(openKeyValueStore(settings, silent), createSealer(() => ring), Date.now);
  await eventually('the store answers', async () => {
    await store.health();
    return true;
  });
  return store;
}

/** Opens a store with a unique prefix, so that tests can share a server. */
export const redisFixture = async (
  servers: KeyValueServers,
  over: Partial<KeyValueSettings> = {},
): Promise<Fixture> => ({
  store: await redisStore(settingsOf(servers, over)),
  now: Date.now,
  elapse: (ms) => sleep(ms),
});
