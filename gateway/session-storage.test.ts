import { readFileSync } from 'node:fs';
import { PassThrough } from 'node:stream';
import { describe, expect, it, onTestFinished } from 'vitest';
import { eventually } from '../e2e/harness/poll.ts';
import { startRedis } from '../e2e/harness/redis.ts';
import { testScope } from '../e2e/harness/scope.ts';
import type { GatewayConfig } from './contract/gateway-config.ts';
import { VMCP } from './contract/testdata/vmcp-config.ts';
import type { KeyValueStore } from './kvstore/key-value-store.ts';
import { checkGatewayConfig } from './read-gateway-config.ts';
import { SessionStorage } from './session-storage.ts';
import { createLog } from './telemetry/log.ts';

const page = readFileSync(new URL('../docs/replicas.md', import.meta.url), 'utf8');
/** Rights that the documentation lists, for the server `desk`. */
const RIGHTS = (/^ACL SETUSER default on >PASSWORD resetkeys (.*)$/mu.exec(page)?.[1] ?? '').replaceAll(
  'tools}',
  'desk}',
);
const WARNING = 'the user of the key-value store lacks rights for the sessions';

const configOf = (port: number, vmcp: Partial<GatewayConfig['vmcp']> = {}): GatewayConfig => {
  const read = checkGatewayConfig({
    schema_version: 'v0.1.0',
    name: 'desk',
    scaling_config: { session_kvstore: { address: `127.0.0.1:${String(port)}` } },
    vmcp: { ...VMCP, backends: [], ...vmcp },
  });
  if ('problems' in read) throw new Error(JSON.stringify(read.problems));
  return read.config;
};

/** Starts a store whose default user has these rights, and opens it for the sessions. */
async function openWith(rights: string) {
  const scope = testScope();
  const redis = await startRedis(scope, { config: [`user default on nopass resetkeys resetchannels ${rights}`] });
  const output = new PassThrough();
  let text = '';
  output.on('data', (data: Buffer) => (text += data.toString()));
  const used: (KeyValueStore | undefined)[] = [];
  const storage = new SessionStorage({
    log: createLog(output, 'info'),
    env: () => undefined,
    use: (store) => used.push(store),
  });
  onTestFinished(() => {
    storage.close();
  });
  const use = async (config: GatewayConfig): Promise<KeyValueStore | undefined> => {
    await (await storage.prepare(config)).apply();
    return used.at(-1);
  };
  return { redis, use, used, warnings: () => text.split('\n').filter((line) => line.includes(WARNING)) };
}

/** Rights without the one that matches. */
const without = (right: string): string =>
  RIGHTS.split(' ')
    .filter((each) => each !== right)
    .join(' ');

describe('the store of sessions', () => {
  it('needs the rights that the documentation lists', async () => {
    const { redis, use, warnings } = await openWith(RIGHTS);
    const store = await use(configOf(redis.port));
    store?.subscribe([store.key('all')], () => undefined);
    await store?.command('SET', store.key('a'), '1', 'PX', 1_000);
    await eventually(
      'the channel is subscribed to',
      async () => (await store?.command('PUBLISH', store.key('all'), '')) === 1,
    );
    expect(warnings()).toEqual([]);
  });

  it.each([
    ['a key', '~vmcp:mcp:{default:desk}:*'],
    ['a command', '+set'],
    ['a command of a script', '+xadd'],
    ['a channel', '&vmcp:mcp:{default:desk}:*'],
  ])('warns once of a user that lacks the right for %s', async (_what, right) => {
    const { redis, use, warnings } = await openWith(without(right));
    const store = await use(configOf(redis.port));
    const script = { name: 'testAppend', lua: "return redis.call('XADD', KEYS[1], '*', 'd', '1')" };
    store?.subscribe([store.key('all')], () => undefined);
    for (let round = 0; round < 3; round += 1) {
      await store?.command('SET', store.key('a'), '1').catch(() => undefined);
      await store?.run(script, [store.key('e')], []).catch(() => undefined);
    }
    await eventually('the warning is logged', () => warnings().length > 0);
    expect(warnings()).toHaveLength(1);
    expect(warnings()[0]).toMatch(
      /see docs\/replicas\.md, or set sessionStorage to memory.*(?:NOPERM|the user executing the script|ACL failure in script)/iu,
    );
    expect(warnings()[0]).not.toContain('vmcp:mcp');
  });

  it('is not used while session_storage is memory', async () => {
    const { redis, use, used } = await openWith(RIGHTS);
    const memory = configOf(redis.port, { session_storage: 'memory' });
    expect(await use(memory)).toBeUndefined();
    expect(await use(configOf(redis.port))).toBeDefined();
    expect(await use(memory)).toBeUndefined();
    expect(used).toHaveLength(2);
  });
});
