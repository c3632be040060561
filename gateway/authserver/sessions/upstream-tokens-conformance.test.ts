import { decodeJwt } from 'jose';
import { beforeAll, onTestFinished } from 'vitest';
import { startRedis, type RedisServer } from '../../../e2e/harness/redis.ts';
import { blockScope } from '../../../e2e/harness/scope.ts';
import { eventually } from '../../../e2e/harness/poll.ts';
import { describeUpstreamTokens, type UpstreamTokensWorld } from '../../outgoing/testdata/upstream-tokens-suite.ts';
import { memoryStore } from '../storage/memory.ts';
import { StoreUnavailable, type Store } from '../storage/store.ts';
import { redisStore, settingsOf, single } from '../storage/testdata/redis-store.ts';
import { replicasOver, type Replicas } from './testdata/replicas.ts';

/** Sends each call to the next process. */
function worldOf(replicas: Replicas, setStoreDown: UpstreamTokensWorld['setStoreDown']): UpstreamTokensWorld {
  const { sessions, login } = replicas;
  let calls = 0;
  const next = () => sessions[calls++ % sessions.length] ?? sessions[0];
  return {
    tokens: { get: (...args) => next().upstreamTokens.get(...args) },
    async login(owner, provider, grant, refreshes) {
      await login(owner, provider, { grant, refreshes });
    },
    logout: ({ tsid }) => next().end({ id: 'family', tsid }),
    refreshCount: () => replicas.refreshCount(),
    advance: (ms) => {
      replicas.advance(ms);
    },
    setStoreDown,
    idTokenNamed: (text) => decodeJwt(text).jti ?? '',
  };
}

/** Memory store that can be switched off. */
function stoppable(store: Store) {
  const state = { down: false };
  const answering = <T extends object>(part: T): T =>
    new Proxy(part, {
      get(target, name, receiver) {
        const member: unknown = Reflect.get(target, name, receiver);
        if (typeof member !== 'function') return member;
        return (...args: unknown[]): unknown =>
          state.down
            ? Promise.reject(new StoreUnavailable('the store is told to be down'))
            : (Reflect.apply(member, target, args) as unknown);
      },
    });
  const { upstreamTokens, locks, families, live } = store;
  const parts = {
    upstreamTokens: answering(upstreamTokens),
    locks: answering(locks),
    families: answering(families),
    live: answering(live),
  };
  return { state, store: { ...store, ...parts } };
}

describeUpstreamTokens('stored upstream tokens, in memory', async () => {
  const states: { down: boolean }[] = [];
  const replicas = await replicasOver(async (now) => {
    const { state, store } = stoppable(memoryStore(now));
    states.push(state);
    return [store];
  });
  return worldOf(replicas, async (down) => {
    for (const state of states) state.down = down;
  });
});

const scope = blockScope();
let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis(scope);
});

describeUpstreamTokens('stored upstream tokens, of two processes over one Redis', async () => {
  const settings = settingsOf(single(redis.port), { replyTimeoutMs: 1_500 });
  const stores: [Store, Store] = [await redisStore(settings), await redisStore(settings)];
  onTestFinished(async () => {
    await Promise.all(stores.map((store) => store.close()));
  });
  return worldOf(await replicasOver(async () => stores), async (down) => {
    if (down) redis.pause();
    else {
      redis.resume();
      for (const store of stores) await eventually('the store answers', () => store.health().then(() => true));
    }
  });
});
