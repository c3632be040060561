import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { eventually } from '../../e2e/harness/poll.ts';
import { startRedis } from '../../e2e/harness/redis.ts';
import { testScope, type Scope } from '../../e2e/harness/scope.ts';
import { createAuthority, type Authority } from '../outbound/testdata/authority.ts';
import type { KeyValueStore } from './key-value-store.ts';
import { openKeyValueStore } from './open.ts';
import type { KeyValueServers, KeyValueSettings } from './settings.ts';

const at = (port: number) => ({ host: '127.0.0.1', port });
const single = (port: number): KeyValueServers => ({ kind: 'single', address: at(port) });

/** Opens a client that closes with the test, and collects its log. */
function open(scope: Scope, over: Partial<KeyValueSettings> & Pick<KeyValueSettings, 'servers'>) {
  const lines: string[] = [];
  const log = (message: string, facts: object = {}): void => void lines.push(`${message} ${JSON.stringify(facts)}`);
  const store = openKeyValueStore(
    { db: 0, keyPrefix: 'vmcp:{test}:', connectTimeoutMs: 2_000, replyTimeoutMs: 2_000, ...over },
    { warn: log, info: log },
  );
  scope.defer(() => {
    store.close();
  });
  return { store, lines };
}

const answers = (store: KeyValueStore) =>
  eventually('the store answers', async () => (await store.command('EXISTS', store.key('a'))) === 0);

async function folder(scope: Scope): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'vmcp-kvstore-'));
  scope.defer(() => rm(path, { recursive: true, force: true }));
  return path;
}

/** Writes the files of a server whose certificate `authority` signed. */
async function tlsFiles(path: string, name: string, authority: Authority) {
  const { cert, key } = authority.sign('IP:127.0.0.1');
  const files = { cert: join(path, `${name}.crt`), key: join(path, `${name}.key`), ca: join(path, `${name}-ca.crt`) };
  await Promise.all([writeFile(files.cert, cert), writeFile(files.key, key), writeFile(files.ca, authority.cert)]);
  return files;
}

describe('scripts', () => {
  const echo = { name: 'testEcho', lua: 'return {KEYS[1], ARGV[1]}' };

  it('run by their hash, and by their source after a SCRIPT FLUSH', async () => {
    const scope = testScope();
    const server = await startRedis(scope);
    const { store } = open(scope, { servers: single(server.port) });
    await answers(store);
    const key = store.key('a');
    expect(key).toBe('vmcp:{test}:a');
    for (const argument of ['1', '2']) expect(await store.run(echo, [key], [argument])).toEqual([key, argument]);
    expect(await server.cli('INFO', 'commandstats')).toMatch(/cmdstat_evalsha:calls=1,/u);
    await server.cli('SCRIPT', 'FLUSH');
    expect(await store.run(echo, [key], [3])).toEqual([key, '3']);
  });
});

describe('credentials', () => {
  it('belong to the ACL user and are read again for each connection', async () => {
    const scope = testScope();
    const server = await startRedis(scope, { config: ['user gateway on >first ~vmcp:{test}:* +@all'] });
    let password = 'first';
    const credentials = () => ({ username: 'gateway', password });
    const { store, lines } = open(scope, { servers: single(server.port), credentials });
    await answers(store);
    expect(await server.cli('CLIENT', 'LIST')).toContain('user=gateway');
    await expect(store.command('GET', 'foreign')).rejects.toThrow('NOPERM');
    await server.cli('ACL', 'SETUSER', 'gateway', '>second', '<first');
    password = 'second';
    await server.cli('CLIENT', 'KILL', 'USER', 'gateway');
    await answers(store);
    expect(lines.join('\n')).not.toMatch(/"first"|"second"/u);
  });

  it('make the store unavailable when they are wrong', async () => {
    const scope = testScope();
    const server = await startRedis(scope, { config: ['user gateway on >right ~* +@all'] });
    const credentials = () => ({ username: 'gateway', password: 'not-this-one' });
    const { store, lines } = open(scope, { servers: single(server.port), credentials });
    await eventually('the rejection is logged', () => lines.some((line) => line.includes('WRONGPASS')));
    await expect(store.command('GET', store.key('a'))).rejects.toMatchObject({ name: 'KeyValueStoreUnavailable' });
    expect(lines.join('\n')).not.toContain('not-this-one');
    expect(lines.filter((line) => line.includes('unreachable'))).toHaveLength(1);
  });

  it('are not sent to sentinels', async () => {
    const scope = testScope();
    let received = '';
    const sentinel = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.on('data', (data) => (received += data.toString('latin1')));
    });
    await new Promise<void>((resolve) => sentinel.listen(0, '127.0.0.1', resolve));
    scope.defer(() => sentinel.close());
    const servers: KeyValueServers = {
      kind: 'sentinel',
      masterName: 'sessions',
      addresses: [at((sentinel.address() as AddressInfo).port)],
    };
    const credentials = () => ({ username: 'gateway', password: 'of-the-store' });
    open(scope, { servers, credentials, connectTimeoutMs: 300, replyTimeoutMs: 300 });
    await eventually('a sentinel receives a command', () => received.includes('HELLO') || received.includes('hello'));
    expect(received).not.toMatch(/of-the-store|gateway/u);
  });
});

describe('TLS', () => {
  it('trusts only the authority of its bundle', async () => {
    const scope = testScope();
    const path = await folder(scope);
    const tls = await tlsFiles(path, 'store', createAuthority('of the store'));
    const foreign = await tlsFiles(path, 'foreign', createAuthority('of others'));
    const server = await startRedis(scope, { tls });
    const servers = single(server.port);
    await answers(open(scope, { servers, tls: { caFile: tls.ca } }).store);
    for (const wrong of [{ caFile: foreign.ca }, {}, undefined]) {
      const { store, lines } = open(scope, { servers, tls: wrong });
      await eventually('the error is logged', () => lines.some((line) => line.includes('unreachable')));
      await expect(store.command('GET', store.key('a'))).rejects.toMatchObject({ name: 'KeyValueStoreUnavailable' });
    }
    const { store, lines } = open(scope, { servers, tls: { insecureSkipVerify: true } });
    await answers(store);
    expect(lines.join('\n')).toContain('certificates of the key-value store are not verified');
  });

  it('reloads a bundle that changes', async () => {
    const scope = testScope();
    const path = await folder(scope);
    const tls = await tlsFiles(path, 'store', createAuthority('of the store'));
    const bundle = join(path, 'bundle.crt');
    await writeFile(bundle, createAuthority('of before').cert);
    const server = await startRedis(scope, { tls });
    const { store, lines } = open(scope, { servers: single(server.port), tls: { caFile: bundle } });
    await eventually('the old authority is rejected', () => lines.some((line) => line.includes('unreachable')));
    await writeFile(bundle, createAuthority('of before').cert + (await caOf(tls.ca)));
    await answers(store);
  });

  it('trusts separate authorities for the sentinels and for the store', async () => {
    const scope = testScope();
    const path = await folder(scope);
    const [ofStore, ofSentinels] = [createAuthority('of the store'), createAuthority('of the sentinels')];
    const tls = await tlsFiles(path, 'store', ofStore);
    const master = await startRedis(scope, { tls });
    const sentinelFiles = await tlsFiles(path, 'sentinel', ofSentinels);
    const both = join(path, 'both.crt');
    await writeFile(both, ofStore.cert + ofSentinels.cert);
    const sentinel = await startRedis(scope, {
      sentinel: true,
      tls: { ...sentinelFiles, ca: both },
      config: ['tls-replication yes', `sentinel monitor sessions 127.0.0.1 ${String(master.port)} 1`],
    });
    const servers = (caFile: string): KeyValueServers => ({
      kind: 'sentinel',
      masterName: 'sessions',
      addresses: [at(sentinel.port)],
      tls: { caFile },
    });
    await answers(open(scope, { servers: servers(sentinelFiles.ca), tls: { caFile: tls.ca } }).store);
    for (const [first, second] of [
      [tls.ca, tls.ca],
      [sentinelFiles.ca, sentinelFiles.ca],
    ] as const) {
      const { lines } = open(scope, { servers: servers(first), tls: { caFile: second } });
      await eventually('the error is logged', () => lines.some((line) => line.includes('unreachable')));
      expect(lines.join('\n')).not.toContain('is reachable');
    }
  });
});

const caOf = (file: string): Promise<string> => readFile(file, 'utf8');

it('selects the configured database', async () => {
  const scope = testScope();
  const server = await startRedis(scope);
  const { store } = open(scope, { servers: single(server.port), db: 3 });
  await answers(store);
  await store.command('SET', store.key('b'), 'value');
  expect(await server.cli('-n', '3', 'GET', store.key('b'))).toBe('value');
  expect(await server.cli('GET', store.key('b'))).toBe('');
});

it('never resends a command whose answer was lost', async () => {
  const scope = testScope();
  const server = await startRedis(scope);
  const { store } = open(scope, { servers: single(server.port), replyTimeoutMs: 1_500 });
  await answers(store);
  server.pause();
  const lost = store.command('INCR', store.key('counter'));
  await expect(lost).rejects.toMatchObject({ name: 'KeyValueStoreUnavailable' });
  server.resume();
  await answers(store);
  expect(await store.command('GET', store.key('counter'))).toBe('1');
});

it('rejects running commands at once when the connection breaks', async () => {
  const scope = testScope();
  const server = await startRedis(scope);
  const { store } = open(scope, { servers: single(server.port), replyTimeoutMs: 10_000 });
  await answers(store);
  server.pause();
  const lost = store.command('GET', store.key('a'));
  lost.catch(() => undefined);
  const startedAt = performance.now();
  await server.kill();
  await expect(lost).rejects.toMatchObject({ name: 'KeyValueStoreUnavailable' });
  expect(performance.now() - startedAt).toBeLessThan(5_000);
});

it('rejects a prefix without a hash tag', () => {
  const servers = single(1);
  expect(() => open({ defer: () => undefined }, { servers, keyPrefix: 'vmcp:' })).toThrow('exactly one hash tag');
});

describe('subscriptions', () => {
  it('receive the messages of their channels, also after the server has started again', async () => {
    const scope = testScope();
    const first = await startRedis(scope);
    const { store } = open(scope, { servers: single(first.port) });
    const received: string[] = [];
    store.subscribe([store.key('one'), store.key('two')], (channel, message) => {
      received.push(`${channel} ${message.toString('hex')}`);
    });
    const publishes = (text: string) =>
      eventually('the message arrives', async () => {
        await store.command('PUBLISH', store.key('two'), Buffer.from(text, 'hex'));
        await store.command('PUBLISH', store.key('three'), 'x');
        return received.includes(`vmcp:{test}:two ${text}`);
      });
    await publishes('00ff0a');
    await first.kill();
    await startRedis(scope, { port: first.port });
    await publishes('c328');
    expect(received.filter((each) => !each.startsWith('vmcp:{test}:two '))).toEqual([]);
  });
});
