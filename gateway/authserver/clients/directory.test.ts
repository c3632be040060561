import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { createOutbound, type OutboundOptions } from '../../outbound/fetch.ts';
import { onEnd, serve } from '../../outbound/testdata/servers.ts';
import type { AuthServerSettings } from '../settings.ts';
import { memoryStore } from '../storage/memory.ts';
import type { Store } from '../storage/store.ts';
import { client } from '../storage/testdata/samples.ts';
import { createClientDirectory, type ClientDirectory } from './directory.ts';
import { METADATA_RULES } from './testdata/rules.ts';

const DAY_MS = 24 * 3_600_000;
const HERE = '203.0.113.7';
const secrets = () => [new Uint8Array(32).fill(7)] as const;
const silent = { error: () => undefined, warn: () => undefined, info: () => undefined, debug: () => undefined };
const DOCUMENTS = {
  hosts: { allowedHosts: [], deniedHosts: [], allowLoopbackHttp: true },
  allowCrossOriginRedirects: true,
  cacheSize: 256,
  fallbackTtlMs: 300_000,
};

type Documents = NonNullable<AuthServerSettings['clients']['documents']>;

function world({
  documents = true,
  deniedHosts = [],
  published: more = {},
}: { documents?: boolean; deniedHosts?: readonly string[]; published?: Partial<Documents> } = {}) {
  let ms = Date.now();
  const now = (): number => ms;
  const store = memoryStore(now);
  const published = { ...DOCUMENTS, ...more, hosts: { ...DOCUMENTS.hosts, deniedHosts } };
  const limit = { capacity: 10, perSecond: 10 / 60 };
  const settings: Pick<AuthServerSettings, 'clients' | 'limits' | 'urls'> = {
    urls: { issuer: 'https://gateway.example' },
    clients: { metadata: METADATA_RULES, maxRegistered: 0, ...(documents && { documents: published }) },
    limits: {
      ...{ authorizationsPerAddress: limit, registrationsPerAddress: limit, registrations: limit },
      ...{ authorizations: limit, documentFetches: limit },
      ...{ documentFetchesPerAddress: limit, failuresPerClient: limit },
    },
  };
  const directory = (over: Partial<Store> = {}): ClientDirectory => {
    const outbound = (options: OutboundOptions) => createOutbound(options);
    const made = createClientDirectory({ settings, store: { ...store, ...over }, now, secrets, log: silent, outbound });
    onEnd(() => made.close());
    return made;
  };
  return { store, directory, pass: (by: number) => void (ms += by) };
}

/** Starts a host of documents that counts requests. */
async function host() {
  let asked = 0;
  let up = true;
  const { port } = await serve((req, res) => {
    asked += 1;
    if (!up) return void req.socket.destroy();
    const client_id = `http://${req.headers.host ?? ''}${req.url ?? ''}`;
    const body = { client_id, client_name: 'Tool', redirect_uris: ['https://client.example/cb'] };
    res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  return {
    url: (path = 'client.json') => `http://127.0.0.1:${String(port)}/${path}`,
    asked: () => asked,
    goDown: () => void (up = false),
    goUp: () => void (up = true),
  };
}

describe('a registered client', () => {
  it('is found by its id until it expires unused, and stays when it is used', async () => {
    const { store, directory, pass } = world();
    const [used, unused] = [client(), client()];
    for (const one of [used, unused]) await store.clients.register(one, DAY_MS, 0);
    const clients = directory();
    expect(await clients.find(used.client_id, HERE)).toEqual({ ok: true, client: used });
    await clients.renew(used);
    pass(DAY_MS + 1);
    expect(await clients.known(used.client_id)).toEqual(used);
    expect(await clients.known(unused.client_id)).toBeUndefined();
    expect(await clients.find(unused.client_id, HERE)).toMatchObject({ ok: false, reason: 'unknown' });
    await clients.renew(used);
    pass(30 * DAY_MS - 1);
    expect(await clients.known(used.client_id)).toEqual(used);
  });

  it('is not renewed for every token', async () => {
    const { store, directory, pass } = world();
    const one = client();
    await store.clients.register(one, DAY_MS, 0);
    let renewals = 0;
    const renew: Store['clients']['renew'] = (...args) => ((renewals += 1), store.clients.renew(...args));
    const clients = directory({ clients: { ...store.clients, renew } });
    for (let count = 0; count < 100; count += 1) await clients.renew(one);
    expect(renewals).toBe(1);
    pass(3_600_001);
    await clients.renew(one);
    expect(renewals).toBe(2);
  });
});

describe('a client with a metadata document', () => {
  it('is fetched once, and known to other replicas without a request', async () => {
    const { directory } = world();
    const [one, other] = [directory(), directory()];
    const { url, asked, goDown } = await host();
    const found = await one.find(url(), HERE);
    expect(found).toMatchObject({ ok: true, client: { client_id: url(), source: 'document' } });
    await one.find(url(), HERE);
    goDown();
    expect(await other.known(url())).toMatchObject({ client_id: url() });
    expect(asked()).toBe(1);
  });

  it('is read from the newest copy of any replica', async () => {
    const { directory, store, pass } = world();
    const [one, other] = [directory(), directory()];
    const { url } = await host();
    const found = await one.find(url(), HERE);
    await other.find(url(), HERE);
    if (!found.ok) throw new Error(found.detail);
    const { client: before } = found;
    const newer = {
      ...before,
      metadata: { ...before.metadata, token_endpoint_auth_method: 'private_key_jwt' as const },
    };
    await store.clients.put(newer, DAY_MS);
    expect(await other.known(url())).toEqual(before);
    pass(300_001);
    expect(await other.known(url())).toEqual(newer);
    await store.clients.delete(url());
    expect(await other.known(url())).toMatchObject({ client_id: url() });
  });

  it('is never fetched for a token request', async () => {
    const { directory } = world();
    const { url, asked } = await host();
    const clients = directory();
    for (let count = 0; count < 100; count += 1)
      expect(await clients.known(url(`client-${String(count)}.json`))).toBeUndefined();
    expect(asked()).toBe(0);
  });

  it('is charged to the budget of the requesting address', async () => {
    const { directory, pass } = world();
    const { url, asked } = await host();
    const clients = directory();
    const find = (index: number, address = HERE) => clients.find(url(`${String(index)}.json`), address);
    for (let index = 0; index < 10; index += 1) expect(await find(index)).toMatchObject({ ok: true });
    expect(await find(10)).toMatchObject({ ok: false, reason: 'busy' });
    expect(await find(3)).toMatchObject({ ok: true });
    expect(await find(11, '203.0.113.8')).toMatchObject({ ok: true });
    expect(asked()).toBe(11);
    pass(6_000);
    expect(await find(10)).toMatchObject({ ok: true });
  });

  it('keeps its lifetime in use when another login attempt starts', async () => {
    const { directory, pass } = world();
    const { url } = await host();
    const [one, other] = [directory(), directory()];
    const found = await one.find(url(), HERE);
    if (!found.ok) throw new Error(found.detail);
    await one.renew(found.client);
    await other.find(url(), HERE);
    pass(2 * DAY_MS);
    expect(await directory().known(url())).toMatchObject({ client_id: url() });
  });

  it('expires after a day without a token', async () => {
    const { directory, pass } = world();
    const { url } = await host();
    await directory().find(url(), HERE);
    pass(DAY_MS + 1);
    expect(await directory().known(url())).toBeUndefined();
  });

  it('expires after a day when login attempts at two replicas do not complete', async () => {
    const { directory, pass } = world();
    const { url } = await host();
    await directory().find(url(), HERE);
    await directory().find(url(), HERE);
    pass(DAY_MS + 1);
    expect(await directory().known(url())).toBeUndefined();
  });

  it('is reported as document when unusable, and as unknown when missing', async () => {
    const { directory } = world();
    const { url } = await host();
    const unusable = `${url()}?${'x'.repeat(2_048)}`;
    expect(await directory().find(unusable, HERE)).toMatchObject({ ok: false, reason: 'document' });
    expect(await directory().find('vcl_nobody', HERE)).toMatchObject({ ok: false, reason: 'unknown' });
  });

  it('is unknown after its host is denied, which also ends its logins', async () => {
    const { directory, store } = world({ deniedHosts: ['127.0.0.1'] });
    const { url } = await host();
    await store.clients.put(client({ client_id: url(), source: 'document' }), DAY_MS);
    expect(await directory().known(url())).toBeUndefined();
  });

  it('is unknown when documents are disabled, even with a copy in the store', async () => {
    const { directory, store } = world({ documents: false });
    const { url, asked } = await host();
    await store.clients.put(client({ client_id: url(), source: 'document' }), DAY_MS);
    expect(await directory().find(url(), HERE)).toMatchObject({ ok: false, reason: 'unknown' });
    expect(await directory().known(url())).toBeUndefined();
    expect(asked()).toBe(0);
  });
});

describe('a client that the operator describes', () => {
  const CODEX = {
    clientId: 'https://codex.example/clients/*/client.json',
    clientName: 'Codex',
    redirectUris: ['http://127.0.0.1/callback/*'],
  };

  it('is found without a request, under every id that matches, and known to later token requests', async () => {
    const { directory, store } = world({ published: { preloaded: [CODEX] } });
    const clients = directory();
    for (const id of ['https://codex.example/clients/a/client.json', 'https://codex.example/clients/b/client.json']) {
      const found = await clients.find(id, HERE);
      expect(found).toMatchObject({
        ok: true,
        client: {
          client_id: id,
          source: 'document',
          metadata: { client_name: 'Codex', redirect_uris: CODEX.redirectUris },
        },
      });
      expect((await clients.known(id))?.metadata.client_name).toBe('Codex');
      expect(await store.clients.get(id)).toBeDefined();
    }
    expect(clients.documents()).toEqual({ advertised: true, cutOff: false });
  });

  it('takes precedence over the document', async () => {
    const here = await host();
    const own = { clientId: here.url(), clientName: 'Ours', redirectUris: ['https://client.example/ours'] };
    const clients = world({ published: { preloaded: [own] } }).directory();
    expect(await clients.find(here.url(), HERE)).toMatchObject({ client: { metadata: { client_name: 'Ours' } } });
    expect(here.asked()).toBe(0);
    expect(await clients.find(here.url('other.json'), HERE)).toMatchObject({
      client: { metadata: { client_name: 'Tool' } },
    });
  });

  it('is not found on a denied host', async () => {
    const clients = world({ published: { preloaded: [CODEX] }, deniedHosts: ['codex.example'] }).directory();
    const id = 'https://codex.example/clients/a/client.json';
    expect([(await clients.find(id, HERE)).ok, await clients.known(id)]).toEqual([false, undefined]);
  });
});

describe('while no host of clients can be reached', () => {
  it('documents are not advertised, until a probe reaches one', async () => {
    const here = await host();
    const clients = world({ published: { probePausesMs: [20] } }).directory();
    here.goDown();
    expect(await clients.find(here.url(), HERE)).toMatchObject({ ok: false, reason: 'unreachable' });
    expect(clients.documents()).toEqual({ advertised: false, cutOff: true });
    expect(await clients.find(here.url(), HERE)).toMatchObject({ ok: false, reason: 'unreachable' }); // from the cache of failures
    await expect.poll(here.asked).toBeGreaterThan(3);
    expect(clients.documents().advertised).toBe(false);
    here.goUp();
    await expect.poll(() => clients.documents()).toEqual({ advertised: true, cutOff: false });
    expect((await clients.find(here.url(), HERE)).ok).toBe(true);
  });

  it('documents that a client names anyway are fetched as before, which ends the state too', async () => {
    const [down, here] = [await host(), await host()];
    down.goDown();
    const clients = world().directory();
    await clients.find(down.url(), HERE);
    expect(clients.documents().advertised).toBe(false);
    down.goUp();
    expect((await clients.find(down.url('other.json'), HERE)).ok).toBe(true);
    expect(clients.documents().advertised).toBe(true);
    expect((await clients.find(here.url(), HERE)).ok).toBe(true);
  });

  it.each([
    ['always', { advertised: true, cutOff: true }],
    ['never', { advertised: false, cutOff: true }],
  ] as const)('the setting %s stays in force', async (advertise, expected) => {
    const here = await host();
    const clients = world({ published: { advertise } }).directory();
    expect(clients.documents()).toEqual({ advertised: advertise === 'always', cutOff: false });
    here.goDown();
    await clients.find(here.url(), HERE);
    expect(clients.documents()).toEqual(expected);
  });

  it.each<[string, (res: ServerResponse) => void]>([
    ['404', (res) => res.writeHead(404).end()],
    ['a redirect', (res) => res.writeHead(302, { location: 'https://elsewhere.example/' }).end()],
    ['HTML', (res) => res.writeHead(200, { 'content-type': 'text/html' }).end('<p>')],
    ['another document', (res) => res.writeHead(200, { 'content-type': 'application/json' }).end('{}')],
    ['500', (res) => res.writeHead(500).end()],
    ['20 KB', (res) => res.writeHead(200, { 'content-type': 'application/json' }).end('x'.repeat(20_000))],
  ])('is not what %s means: the document is at fault', async (_, answer) => {
    const { port } = await serve((_req, res) => {
      answer(res);
    });
    const clients = world().directory();
    const found = await clients.find(`http://127.0.0.1:${String(port)}/client.json`, HERE);
    expect(found).toMatchObject({ ok: false, reason: 'document' });
    expect(clients.documents()).toEqual({ advertised: true, cutOff: false });
  });

  it('is not what an address means that the guard refuses', async () => {
    const clients = world().directory();
    expect(await clients.find('https://10.0.0.1/client.json', HERE)).toMatchObject({ ok: false, reason: 'document' });
    expect(clients.documents().advertised).toBe(true);
  });
});
