import { expect, it } from 'vitest';
import { startRedis } from '../../../e2e/harness/redis.ts';
import { testScope } from '../../../e2e/harness/scope.ts';
import type { StorageConfig } from '../../contract/run-config/auth-server-storage.ts';
import { createStore, storeFacts } from './index.ts';
import { everyMethod } from './testdata/every-method.ts';
import { PERMISSIONS } from './testdata/redis-store.ts';
import { unique, user } from './testdata/samples.ts';
import type { StoreDeps } from './variant.ts';

function deps(over: Partial<StoreDeps> = {}): StoreDeps & { readonly warnings: string[] } {
  const warnings: string[] = [];
  const secrets = [Buffer.alloc(32, 's')];
  return {
    warnings,
    now: Date.now,
    log: { warn: (message) => void warnings.push(message), info: () => undefined },
    env: () => undefined,
    secrets: () => secrets,
    keyPrefix: 'vmcp:auth:{default:tour}:',
    ...over,
  };
}

it('keeps records in memory by default, and warns about restarts', async () => {
  const given = deps();
  const store = await createStore({}, given);
  await store.health();
  expect(given.warnings.join()).toContain('a restart ends every login');
  const types = [undefined, 'memory', 'kvstore'];
  expect(types.map((type) => storeFacts(type).isShared)).toEqual([false, false, true]);
});

it('uses a key-value store with no more permissions than STORAGE.md lists', async () => {
  const password = unique();
  const acl = `user gateway on >${password} ~vmcp:auth:{default:tour}:* ${PERMISSIONS}`;
  const server = await startRedis(testScope(), { config: [acl] });
  const store = await createStore(
    {
      type: 'kvstore',
      kvstore_config: {
        addr: `127.0.0.1:${String(server.port)}`,
        acl_user_config: { username_env_var: 'USER', password_env_var: 'PASSWORD' },
      },
    },
    deps({ env: (name) => ({ USER: 'gateway', PASSWORD: password })[name] }),
  );
  await expect.poll(() => store.health().then(() => 'there'), { timeout: 5_000 }).toBe('there');
  for (const [method, call] of everyMethod(store)) await expect(call().then(() => method)).resolves.toBe(method);
  const person = user();
  await store.users.resolve(person);
  expect(await server.cli('GET', `vmcp:auth:{default:tour}:usr:${person.id}`)).toBe(JSON.stringify(person));
  await store.close();
});

it.each<[string, StorageConfig, string]>([
  ['an unknown type', { type: 'disk' }, 'storage.type must be one of memory, kvstore'],
  ['a key-value store without kvstore_config', { type: 'kvstore' }, 'storage.kvstore_config is required'],
  [
    'a password variable that is not set',
    { type: 'kvstore', kvstore_config: { addr: 'redis', acl_user_config: { password_env_var: 'NONE' } } },
    'names NONE, which is not set',
  ],
])('rejects %s', async (_, config, message) => {
  await expect(createStore(config, deps())).rejects.toThrow(message);
});
