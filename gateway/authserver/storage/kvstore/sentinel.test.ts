import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { startSentinelTrio, type SentinelTrio } from '../../../../e2e/harness/redis.ts';
import { blockScope } from '../../../../e2e/harness/scope.ts';
import type { KeyValueServers } from '../../../kvstore/settings.ts';
import { StoreUnavailable } from '../store.ts';
import { redisFixture, redisStore, settingsOf } from '../testdata/redis-store.ts';
import { client, family, HOUR_MS, SPANS, unique, upstreamRow } from '../testdata/samples.ts';
import { storeConformance } from '../testdata/store-conformance.ts';

const scope = blockScope();
let trio: SentinelTrio;
const servers = (): KeyValueServers => ({
  kind: 'sentinel',
  masterName: trio.masterName,
  addresses: trio.sentinels.map(({ port }) => ({ host: '127.0.0.1', port })),
});

beforeAll(async () => {
  trio = await startSentinelTrio(scope);
});

storeConformance('kvstore (sentinels)', () => redisFixture(servers()));

describe('failover', () => {
  it('rejects calls quickly while there is no master, and keeps all replicated records', async () => {
    const store = await redisStore(settingsOf(servers()));
    const [made, token, row, known] = [family(Date.now()), unique(), upstreamRow(), client()];
    await store.families.create(made, token, SPANS);
    await store.upstreamTokens.put(row, HOUR_MS);
    await store.clients.register(known, HOUR_MS, 0);
    const before = await trio.master();
    // Redis acknowledges a write before it replicates it: wait for the replicas.
    expect(await before.cli('WAIT', '2', '5000')).toBe('2');
    await before.kill();
    const slowest = await untilBack(() => store.health());
    expect(slowest).toBeLessThan(2_500);
    // The sentinel that is asked first may learn of the failover last.
    await expect.poll(async () => (await trio.master()).port).not.toBe(before.port);
    expect(await store.families.find(token)).toEqual({ family: made, current: true });
    expect(await store.live.get(made.tsid)).toBeDefined();
    expect(await store.upstreamTokens.all(row.tsid)).toEqual([row]);
    expect(await store.clients.get(known.client_id)).toEqual(known);
    const rotation = { family: made, token, successor: unique(), graceMs: 0, ...SPANS };
    expect((await store.families.rotate(rotation)).kind).toBe('rotated');
    await store.close();
  });
});

/** Waits for the store to return, and returns the longest time until a rejection, ms. */
async function untilBack(check: () => Promise<void>): Promise<number> {
  const deadline = performance.now() + 40_000;
  let slowest = 0;
  let rejections = 0;
  while (performance.now() < deadline) {
    const startedAt = performance.now();
    try {
      await check();
      if (rejections > 0) return slowest;
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      rejections += 1;
      slowest = Math.max(slowest, performance.now() - startedAt);
    }
    await sleep(50);
  }
  throw new Error('no master within 40 s');
}
