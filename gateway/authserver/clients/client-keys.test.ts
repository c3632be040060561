import type { RequestListener } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createOutbound } from '../../outbound/fetch.ts';
import { onEnd, serve } from '../../outbound/testdata/servers.ts';
import { client } from '../storage/testdata/samples.ts';
import type { Client } from '../storage/records.ts';
import { ClientHosts } from './documents/client-hosts.ts';
import type { HostPolicy } from './documents/client-id-url.ts';
import { ClientKeys, type ClientKeySource } from './client-keys.ts';
import { newKey, signingClient } from './testdata/signing-client.ts';

const HOSTS: HostPolicy = { allowedHosts: [], deniedHosts: [], allowLoopbackHttp: true };
const free = () => true;
const broke = () => false;
const { jwk } = await newKey('k1');
const down = (why: string) => expect.objectContaining({ name: 'ClientKeysUnavailable', why }) as unknown;

function world(hosts = HOSTS) {
  let ms = 1_000_000;
  const from = new ClientHosts({ hosts, outbound: createOutbound });
  onEnd(() => from.close());
  const keys = new ClientKeys({ hosts, from, fallbackTtlMs: 300_000, now: () => ms });
  return { keys, from, pass: (seconds: number) => void (ms += seconds * 1_000) };
}

const withKeysAt = (jwks_uri: string): Client => {
  const made = client();
  return { ...made, metadata: { ...made.metadata, token_endpoint_auth_method: 'private_key_jwt', jwks_uri } };
};

/** Starts a host of keys; returns it with a client that names them and the key ids that the client's keys have. */
async function remote(hosts?: HostPolicy) {
  const made = world(hosts);
  const host = await signingClient('https://gateway.example');
  const known = withKeysAt(host.clientId.replace('client.json', 'keys'));
  const source = (spend = free): ClientKeySource => made.keys.of(known, spend);
  const kids = async (spend = free): Promise<string[]> => [...(await source(spend).current()).kids];
  return { ...made, host, known, source, kids, asks: () => host.asks('/keys') };
}

describe('keys at jwks_uri', () => {
  it('are fetched once for concurrent requests, and kept for the lifetime that the reply states', async () => {
    const { kids, asks, pass, host } = await remote();
    await Promise.all(Array.from({ length: 20 }, () => kids()));
    pass(59);
    expect(await kids(broke)).toEqual(['k1']);
    expect(asks()).toBe(1);
    host.state.keys = [await newKey('k2')];
    pass(2);
    expect(await kids()).toEqual(['k2']);
    expect(asks()).toBe(2);
  });

  it.each([
    ['no-store', 60],
    ['max-age=1', 60],
    ['max-age=999999', 86_400],
    ['', 300],
  ])('with Cache-Control "%s" are fetched again after %i s', async (cacheControl, seconds) => {
    const { kids, asks, pass, host } = await remote();
    host.state.cacheControl = cacheControl;
    await kids();
    pass(seconds - 1);
    await kids();
    expect(asks()).toBe(1);
    pass(2);
    await kids();
    expect(asks()).toBe(2);
  });

  it('stay in use while their host fails, and are fetched again every 30 s', async () => {
    const { kids, asks, pass, host } = await remote();
    await kids();
    host.state.up = false;
    for (let day = 0; day < 3; day += 1) {
      pass(86_400);
      for (let count = 0; count < 5; count += 1) expect(await kids()).toEqual(['k1']);
    }
    expect(asks()).toBe(4);
    host.state.up = true;
    host.state.keys = [];
    pass(86_400);
    expect(await kids()).toEqual(['k1']);
    expect(await kids(broke)).toEqual(['k1']);
  });

  it('are unavailable with a retry time until the first fetch succeeds', async () => {
    const { kids, asks, pass, host } = await remote();
    host.state.up = false;
    await expect(kids()).rejects.toEqual(down('down'));
    await expect(kids()).rejects.toMatchObject({ retryAfterSeconds: 30 });
    expect(asks()).toBe(1);
    host.state.up = true;
    pass(31);
    expect(await kids()).toEqual(['k1']);
    await expect((await remote()).kids(broke)).rejects.toEqual(down('busy'));
  });

  it('are renewed for an unknown key id, once for concurrent requests, and at most every 30 s', async () => {
    const { source, asks, pass, host } = await remote();
    const before = await source().current();
    host.state.keys = [await newKey('k2'), host.first];
    const renewed = await Promise.all(Array.from({ length: 20 }, async () => source().renew(before)));
    expect(renewed.every((set) => set.kids.has('k2'))).toBe(true);
    expect(asks()).toBe(2);
    const [after] = renewed;
    if (!after) throw new Error('the keys were not renewed');
    for (let count = 0; count < 50; count += 1) expect(await source().renew(after)).toBe(after);
    expect(asks()).toBe(2);
    pass(31);
    await source().renew(after);
    expect(asks()).toBe(3);
  });

  it('are renewed once even if charging the budget takes long', async () => {
    const { keys, known, source, asks } = await remote();
    const before = await source().current();
    const slow = keys.of(known, async () => {
      await sleep(100);
      return true;
    });
    const [one, other] = await Promise.all([source().renew(before), slow.renew(before)]);
    expect(one).toBe(other);
    expect(one).not.toBe(before);
    expect(asks()).toBe(2);
  });

  it('are unavailable for an unknown key id while their host is down or the budget is spent', async () => {
    const { source, asks, host } = await remote();
    const before = await source().current();
    await expect(source(broke).renew(before)).rejects.toEqual(down('busy'));
    expect(asks()).toBe(1);
    host.state.up = false;
    for (let count = 0; count < 5; count += 1) await expect(source().renew(before)).rejects.toEqual(down('down'));
    expect(asks()).toBe(2);
    expect(await source().current()).toBe(before);
  });

  it('share the limit of running requests with metadata documents', async () => {
    const { kids, from, host } = await remote();
    const releases = [from.slot(host.clientId), from.slot(host.clientId)];
    await expect(kids()).rejects.toEqual(down('busy'));
    for (const release of releases) release?.();
    expect(await kids()).toEqual(['k1']);
  });

  it('are not fetched after the configuration denies their host', async () => {
    const { kids, asks } = await remote({ ...HOSTS, deniedHosts: ['127.0.0.1'] });
    await expect(kids()).rejects.toEqual(down('down'));
    expect(asks()).toBe(0);
  });

  const good = JSON.stringify({ keys: [jwk] });
  const answer =
    (body: string, headers: Record<string, string> = {}, status = 200): RequestListener =>
    (_req, res) =>
      void res.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);

  it.each<[string, RequestListener]>([
    ['HTML', answer('<html>', { 'content-type': 'text/html' })],
    ['invalid JSON', answer('{')],
    ['an array', answer('[]')],
    ['an empty set', answer('{"keys":[]}')],
    ['a secret key', answer(JSON.stringify({ keys: [jwk, { ...jwk, d: 'AA' }] }))],
    ['eleven keys', answer(JSON.stringify({ keys: Array.from({ length: 11 }, () => jwk) }))],
    ['an error', answer(good, {}, 500)],
    ['a redirect', answer('', { location: '/elsewhere' }, 302)],
    ['65 KiB', answer(good + ' '.repeat(65 * 1024))],
  ])('are rejected in %s', async (_, listener) => {
    const { port } = await serve(listener);
    const known = withKeysAt(`http://127.0.0.1:${String(port)}/keys`);
    await expect(world().keys.of(known, free).current()).rejects.toEqual(down('down'));
  });

  it('may have 64 KiB, and may not be at a private address', async () => {
    const { port } = await serve(answer(good + ' '.repeat(64 * 1024 - good.length)));
    const at = (url: string, hosts = HOSTS) => world(hosts).keys.of(withKeysAt(url), free).current();
    expect((await at(`http://127.0.0.1:${String(port)}/keys`)).kids.has('k1')).toBe(true);
    const strict = { ...HOSTS, allowLoopbackHttp: false };
    for (const host of [`127.0.0.1:${String(port)}`, '10.0.0.1', '169.254.169.254', '[::1]'])
      await expect(at(`https://${host}/keys`, strict)).rejects.toEqual(down('down'));
  });
});

it('uses keys inside a document without any request', async () => {
  const made = client();
  const known: Client = { ...made, metadata: { ...made.metadata, jwks: { keys: [jwk] } } };
  const source = world().keys.of(known, broke);
  const set = await source.current();
  expect([...set.kids]).toEqual(['k1']);
  expect(await source.renew(set)).toBe(set);
});
