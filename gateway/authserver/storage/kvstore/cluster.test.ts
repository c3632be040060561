import { beforeAll, expect, it } from 'vitest';
import { startRedisCluster, type RedisServer } from '../../../../e2e/harness/redis.ts';
import { blockScope } from '../../../../e2e/harness/scope.ts';
import type { KeyValueServers } from '../../../kvstore/settings.ts';
import { everyMethod } from '../testdata/every-method.ts';
import { PERMISSIONS, redisFixture, redisStore, settingsOf } from '../testdata/redis-store.ts';
import { HOUR_MS, unique, user } from '../testdata/samples.ts';
import { storeConformance } from '../testdata/store-conformance.ts';

const scope = blockScope();
let members: readonly RedisServer[];
/** One configured member; the client discovers the others. */
const servers = (): KeyValueServers => ({
  kind: 'cluster',
  addresses: members.slice(0, 1).map(({ port }) => ({ host: '127.0.0.1', port })),
});

/** An ACL user with the permissions that STORAGE.md lists for a cluster. */
const PASSWORD = 'of the cluster';
const ACL = `${PERMISSIONS} +cluster|slots +cluster|info`;

beforeAll(async () => {
  members = await startRedisCluster(scope, [`user gateway on ">${PASSWORD}" ~vmcp:auth:* ${ACL}`]);
});

storeConformance('kvstore (three-node cluster)', () =>
  redisFixture(servers(), { credentials: () => ({ username: 'gateway', password: PASSWORD }) }),
);

it('distributes virtual servers over the members by their hash tags', async () => {
  for (let count = 0; count < 12; count += 1) {
    const store = await redisStore(settingsOf(servers()));
    await store.users.resolve(user());
    await store.close();
  }
  const sizes = await Promise.all(members.map((member) => member.cli('DBSIZE')));
  expect(sizes.filter((size) => Number(size) > 0)).toHaveLength(3);
});

it('fails every method as unavailable when the member with its keys is gone', async () => {
  const settings = settingsOf(servers(), { replyTimeoutMs: 2_000 });
  const store = await redisStore(settings);
  const handle = unique();
  await store.locks.acquire(handle, HOUR_MS);
  const holds = await Promise.all(
    members.map((member) => member.cli('--scan', '--pattern', `${settings.keyPrefix}lock:*`)),
  );
  await members[holds.findIndex((keys) => keys !== '')]?.kill();
  const startedAt = performance.now();
  const answers = await Promise.allSettled(everyMethod(store).map(([, call]) => call()));
  expect(performance.now() - startedAt).toBeLessThan(8_000);
  for (const answer of answers) {
    expect(answer).toMatchObject({ status: 'rejected', reason: { name: 'StoreUnavailable' } });
  }
  await store.close();
});
