import type { RequestListener } from 'node:http';
import type { LookupFunction } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { createOutbound, type Outbound, type OutboundOptions } from '../../../outbound/fetch.ts';
import { onEnd, resolver, serve, type TestServer } from '../../../outbound/testdata/servers.ts';
import { ClientDocuments, readClientDocument, type ClientDocumentsOptions, type DocumentRules } from './cimd.ts';
import { ClientHosts, faultOfRequest, FetchSlots } from './client-hosts.ts';
import type { HostPolicy } from './client-id-url.ts';
import { maxAgeSeconds } from './fetched-documents.ts';
import { ProxyError } from '../../../outbound/proxy/proxy-error.ts';
import { METADATA_RULES } from '../testdata/rules.ts';

const DEVELOPMENT: HostPolicy = { allowedHosts: [], deniedHosts: [], allowLoopbackHttp: true };
const HOSTS = { ...DEVELOPMENT, allowLoopbackHttp: false };
const RULES: DocumentRules = { hosts: HOSTS, metadata: METADATA_RULES, allowCrossOriginRedirects: true };
const free = () => true;

const describing = (client_id: string, members: object = {}): string =>
  JSON.stringify({ client_id, client_name: 'Tool Caller', redirect_uris: ['https://client.example/cb'], ...members });

type Options = Partial<ClientDocumentsOptions> & { readonly hosts?: HostPolicy; readonly lookup?: LookupFunction };

function documents({ lookup, hosts = DEVELOPMENT, ...options }: Options = {}): ClientDocuments {
  const outbound = (guard: OutboundOptions): Outbound => createOutbound({ ...guard, lookup });
  const from = new ClientHosts({ hosts, outbound });
  onEnd(() => from.close());
  const usual = { cacheSize: 256, fallbackTtlMs: 300_000, now: () => 1_000 };
  return new ClientDocuments({ rules: { ...RULES, hosts }, from, ...usual, ...options });
}

/** Clock that moves only when told. */
function stoppedClock() {
  let ms = 1_000_000;
  return { now: () => ms, pass: (seconds: number) => void (ms += seconds * 1000) };
}

/** Starts a host of documents that counts requests. */
async function host(headers: Record<string, string> = {}): Promise<TestServer & { url: string; requests: string[] }> {
  const requests: string[] = [];
  const server = await serve((req, res) => {
    requests.push(req.headers.accept ?? '');
    const url = `http://${req.headers.host ?? ''}${req.url ?? ''}`;
    res.writeHead(200, { 'content-type': 'application/json', ...headers }).end(describing(url));
  });
  return { ...server, requests, url: `http://127.0.0.1:${String(server.port)}/client.json` };
}

async function answered(onRequest: RequestListener): Promise<{ result: object; ms: number }> {
  const { port } = await serve(onRequest);
  const started = performance.now();
  const result = await documents().resolve(`http://127.0.0.1:${String(port)}/client.json`, free);
  return { result, ms: performance.now() - started };
}

describe('a metadata document', () => {
  it('describes a client', async () => {
    const { url, requests } = await host();
    expect(await documents().resolve(url, free)).toEqual({
      ok: true,
      client: {
        client_id: url,
        source: 'document',
        issuedAt: 1_000,
        metadata: {
          client_name: 'Tool Caller',
          redirect_uris: ['https://client.example/cb'],
          token_endpoint_auth_method: 'none',
          grant_types: ['authorization_code', 'refresh_token'],
          response_types: ['code'],
          scope: 'openid offline_access',
        },
      },
    });
    expect(requests).toEqual(['application/json']);
  });

  const URL = 'https://client.example/client.json';
  const read = (members: object, rules: Partial<DocumentRules> = {}) =>
    readClientDocument(URL, describing(URL, members), { ...RULES, ...rules }, 0);

  it.each<[string, object, object]>([
    ['loopback', { redirect_uris: ['http://localhost/cb'] }, { redirect_uris: ['http://localhost/cb'] }],
    ['grants of other servers', { grant_types: ['urn:x', 'authorization_code'] }, { grant_types: ['authorization_code'] }], // oxfmt-ignore
    ['responses of other servers', { response_types: ['code', 'id_token'] }, { response_types: ['code'] }],
    ['scopes of other servers', { scope: 'tools admin' }, { scope: 'tools' }],
    ['only scopes of other servers', { scope: 'admin' }, { scope: 'openid offline_access' }],
  ])('may have %s', async (_, members, expected) => {
    expect(await read(members)).toMatchObject({ ok: true, value: { metadata: expected } });
  });

  it.each<[string, object]>([
    ['another client_id', { client_id: 'https://client.example/client.json?' }],
    ['no client_id', { client_id: undefined }],
    ['no name', { client_name: undefined }],
    ['a name without visible characters', { client_name: '\u200B\u202E' }],
    ['no redirect', { redirect_uris: [] }],
    ['eleven redirects', { redirect_uris: Array<string>(11).fill(URL) }],
    ['a private-use redirect', { redirect_uris: ['cursor://host/cb'] }],
    ['an http redirect', { redirect_uris: ['http://client.example/cb'] }],
    ['client_secret_basic', { token_endpoint_auth_method: 'client_secret_basic' }],
    ['client_secret_post', { token_endpoint_auth_method: 'client_secret_post' }],
    ['client_secret_jwt', { token_endpoint_auth_method: 'client_secret_jwt' }],
    ['a secret', { client_secret: 'x' }],
    ['client_secret_expires_at', { client_secret_expires_at: 0 }],
    ['no code', { grant_types: ['client_credentials'] }],
  ])('with %s is rejected', async (_, members) => {
    expect((await read(members)).ok).toBe(false);
    const confidential = { ...METADATA_RULES, allowConfidential: true };
    expect((await read(members, { metadata: confidential })).ok).toBe(false);
  });

  it('may redirect to other hosts only if that is allowed', async () => {
    const home = { redirect_uris: ['https://client.example/cb', 'https://a.client.example/', 'http://127.0.0.1/'] };
    const away = { redirect_uris: ['https://evilclient.example/cb'] };
    expect((await read(home, { allowCrossOriginRedirects: false })).ok).toBe(true);
    expect((await read(away, { allowCrossOriginRedirects: false })).ok).toBe(false);
    expect((await read(away)).ok).toBe(true);
  });
});

describe('the fault of a document', () => {
  const noAddress: LookupFunction = (hostname, _options, callback) => {
    callback(Object.assign(new Error(hostname), { code: 'ENOTFOUND' }), []);
  };
  it.each<[string, string, Partial<HostPolicy>?]>([
    ['client_id', 'http://client.example/a'],
    ['client_id', 'https://client.example'],
    ['denied_host', 'https://a.client.example/a', { deniedHosts: ['*.client.example'] }],
    ['other_host', 'https://b.example/a', { allowedHosts: ['client.example'] }],
    ['loopback_address', 'https://127.0.0.1/a'],
    ['loopback_address', 'http://localhost:3000/a'],
    ['private_address', 'https://10.0.0.1/a'],
    ['forbidden_address', 'https://169.254.169.254/a'],
    ['unreachable', 'https://client.example/a'],
  ])('is %s for %s', async (fault, url, rules) => {
    const options = { hosts: { ...HOSTS, ...rules }, lookup: noAddress };
    expect(await documents(options).resolve(url, free)).toMatchObject({ ok: false, error: 'invalid', fault });
  });

  it('is the proxy that gives no connection, and the document of a host that answers', async () => {
    expect(faultOfRequest(new ProxyError('unreachable', 'the proxy answers HTTP 403'))).toBe('proxy');
    const { result } = await answered((_req, res) => res.writeHead(404).end());
    expect(result).toMatchObject({ fault: 'document' });
  });
});

describe('internal addresses are not reachable by', () => {
  const refused = (result: object, reason: RegExp) => {
    const fault = expect.stringMatching(/^(?:client_id|document|(?:loopback|private|forbidden)_address)$/u) as string;
    expect(result).toEqual({ ok: false, error: 'invalid', reason: expect.stringMatching(reason), fault });
  };
  const LITERAL = /normal form|"\S+" is a (?:loopback|private|link-local)/u;
  const RESOLVED = /"client.example" resolves to \S+, a (?:loopback|private|link-local)/u;

  it.each([
    'https://127.0.0.1/a',
    'https://localhost/a',
    'https://a.localhost/a',
    'https://10.0.0.1/a',
    'https://172.16.0.1/a',
    'https://192.168.0.1/a',
    'https://100.64.0.1/a',
    'https://169.254.169.254/latest/meta-data',
    'https://[::1]/a',
    'https://[::ffff:a00:1]/a',
    'https://[::ffff:10.0.0.1]/a',
    'https://[64:ff9b::a00:1]/a',
    'https://[2002:a00:1::]/a',
    'https://[fd00::1]/a',
    'https://[fe80::1]/a',
    'https://2130706433/a',
    'https://0x7f000001/a',
    'https://0177.0.0.1/a',
    'https://0/a',
    'https://metadata.google.internal/a',
    'https://kubernetes.default.svc/a',
  ])('%s', async (url) => {
    const lookup = resolver(['127.0.0.1']);
    refused(await documents({ hosts: HOSTS, lookup }).resolve(url, free), LITERAL);
    expect(lookup.asked).toEqual([]);
  });

  it.each(['127.0.0.1', '10.0.0.1', '::1', '::ffff:10.0.0.1', '64:ff9b::7f00:1', '169.254.169.254'])(
    'a public name that resolves to %s, as first or later address',
    async (address) => {
      const { port, connections } = await serve((_, res) => res.end());
      for (const addresses of [[address], ['8.8.8.8', address]]) {
        const url = `https://client.example:${String(port)}/a`;
        refused(await documents({ hosts: HOSTS, lookup: resolver(addresses) }).resolve(url, free), RESOLVED);
        refused(await documents({ lookup: resolver(addresses) }).resolve(url, free), RESOLVED);
      }
      expect(connections()).toBe(0);
    },
  );

  it('a redirect', async () => {
    const inside = await host();
    const { result } = await answered((_, res) => res.writeHead(302, { location: inside.url }).end(describing('x')));
    refused(result, /answered with 302/u);
    expect(inside.connections()).toBe(0);
  });
});

describe('a document is rejected', () => {
  const json = { 'content-type': 'application/json' };
  const own = (req: { headers: { host?: string | undefined } }): string =>
    `http://${req.headers.host ?? ''}/client.json`;

  const answer =
    (
      change: (body: string) => string | Buffer,
      status = 200,
      headers: Record<string, string> = json,
    ): RequestListener =>
    (req, res) =>
      res.writeHead(status, headers).end(change(describing(own(req))));
  const same = (body: string): string => body;
  const padded = (length: number) => (body: string) => body.replace('{', `{"x":"${'a'.repeat(length)}",`);
  const deep = `{"x":${'['.repeat(4_000)}${']'.repeat(4_000)},`;

  it.each<[string, string, RequestListener]>([
    ['of 11 KB', 'longer than 10240 bytes', answer(padded(11_000))],
    [
      'that is a gzip bomb',
      'longer than 10240 bytes',
      answer((body) => gzipSync(padded(5_000_000)(body)), 200, { ...json, 'content-encoding': 'gzip' }),
    ],
    ['that is HTML', 'not JSON by its content type', answer(same, 200, { 'content-type': 'text/html' })],
    ['without a content type', 'not JSON by its content type', answer(same, 200, {})],
    ['that is not JSON', 'not a JSON object', answer(() => '<html>')],
    ['that is an array', 'not a JSON object', answer((body) => `[${body}]`)],
    ['that nests deeply', 'not a JSON object', answer((body) => body.replace('{', deep))],
    ['that is not found', 'answered with 404', answer(same, 404)],
    ['of status 201', 'answered with 201', answer(same, 201)],
    ['of another client', 'another client_id', answer(() => describing('https://client.example/client.json'))],
    ['whose host closes the connection', 'cannot be reached', (req) => req.socket.destroy()],
  ])('%s', async (_, reason, onRequest) => {
    const { result } = await answered(onRequest);
    expect(result).toMatchObject({ ok: false, error: 'invalid', reason: expect.stringContaining(reason) });
  });

  it('that arrives too slowly, at the time limit', async () => {
    const { result, ms } = await answered((req, res) => {
      res.writeHead(200, json);
      const timer = setInterval(() => res.write(' '), 100);
      req.on('close', () => {
        clearInterval(timer);
      });
    });
    expect(result).toMatchObject({ ok: false, error: 'invalid', reason: expect.stringContaining('5000 ms') });
    expect(ms).toBeLessThan(8_000);
  });

  it.each(['application/json; charset=utf-8', 'application/client+json', 'Application/JSON'])(
    'but accepted with the type %s',
    async (type) => {
      const { result } = await answered((req, res) =>
        res.writeHead(200, { 'content-type': type }).end(describing(own(req))),
      );
      expect(result).toMatchObject({ ok: true });
    },
  );
});

describe('many client ids at once', () => {
  it('cause two requests to one host, and the others fail without waiting', async () => {
    const held: (() => void)[] = [];
    const { port } = await serve((req, res) => {
      const body = describing(`http://${req.headers.host ?? ''}${req.url ?? ''}`);
      held.push(() => res.writeHead(200, { 'content-type': 'application/json' }).end(body));
    });
    const guard = documents();
    const ask = (path: number) => guard.resolve(`http://127.0.0.1:${String(port)}/${String(path)}`, free);
    const asked = Array.from({ length: 50 }, (_, path) => ask(path));
    const busy = await Promise.all(asked.slice(2));
    expect(busy.every((one) => !one.ok && one.error === 'busy')).toBe(true);
    while (held.length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
    for (const answer of held.splice(0)) answer();
    expect((await Promise.all(asked.slice(0, 2))).every(({ ok }) => ok)).toBe(true);
    const again = ask(3);
    while (held.length < 1) await new Promise((resolve) => setTimeout(resolve, 5));
    held[0]?.();
    expect((await again).ok).toBe(true);
  });

  it('row 116: of 30 hosts that never answer leave room for others', () => {
    const outbound = (options: OutboundOptions) => createOutbound(options);
    const hosts = new ClientHosts({ hosts: HOSTS, outbound });
    onEnd(() => hosts.close());
    for (let host = 0; host < 30; host += 1)
      for (const path of ['a', 'b']) expect(hosts.slot(`https://slow-${String(host)}.example/${path}`)).toBeDefined();
    expect(hosts.slot('https://slow-1.example/c')).toBeUndefined();
    expect(hosts.slot('https://client.example/client.json')).toBeDefined();
  });

  it('share ten slots over all hosts', () => {
    const slots = new FetchSlots({ overall: 10, perHost: 2 });
    const taken = Array.from({ length: 30 }, (_, index) => slots.take(`h${String(index % 15)}`));
    expect(taken.filter(Boolean)).toHaveLength(10);
    expect(slots.take('other')).toBeUndefined();
    for (const release of taken) release?.();
    expect([1, 2, 3].map(() => slots.take('h')).filter(Boolean)).toHaveLength(2);
  });

  it('for one document cause one request, charged once', async () => {
    const { url, requests } = await host();
    let spent = 0;
    const guard = documents();
    const spend = (): boolean => (spent += 1) > 0;
    const first = guard.resolve(url, spend);
    await new Promise((resolve) => setImmediate(resolve));
    const results = await Promise.all([first, ...Array.from({ length: 20 }, () => guard.resolve(url, spend))]);
    await guard.resolve(url, spend);
    expect(results.every(({ ok }) => ok)).toBe(true);
    expect([requests.length, spent]).toEqual([1, 1]);
  });

  it('cause no requests when the budget is spent', async () => {
    const { url, connections } = await host();
    const result = await documents().resolve(url, async () => false);
    expect(result).toMatchObject({ ok: false, error: 'busy' });
    expect(connections()).toBe(0);
  });

  it('for a failing document are neither requested again nor charged within 30 s', async () => {
    let requests = 0;
    const { port } = await serve((_, res) => ((requests += 1), res.writeHead(500).end()));
    const clock = stoppedClock();
    const guard = documents({ now: clock.now });
    let spent = 0;
    const ask = () => guard.resolve(`http://127.0.0.1:${String(port)}/a`, () => (spent += 1) > 0);
    for (let call = 0; call < 5; call += 1) expect(await ask()).toMatchObject({ ok: false, error: 'invalid' });
    expect([requests, spent]).toEqual([1, 1]);
    clock.pass(31);
    await ask();
    expect([requests, spent]).toEqual([2, 2]);
  });
});

describe('a document is cached', () => {
  it.each([
    [undefined, 300],
    ['max-age=600', 600],
    ['public, Max-Age=600, must-revalidate', 600],
    ['max-age=600, s-maxage=120', 120],
    ['max-age=1', 60],
    ['max-age=0', 60],
    ['no-store', 60],
    ['no-cache, max-age=600', 60],
    ['max-age=99999999', 86_400],
    ['max-age="700"', 700],
    ['max-age=-5', 300],
    ['x-max-age=900', 300],
  ])('with Cache-Control %s for %i s', (header, seconds) => {
    expect(maxAgeSeconds(header, 300)).toBe(seconds);
  });

  it('until its lifetime has passed, then fetched again', async () => {
    const { url, requests } = await host({ 'cache-control': 'max-age=600' });
    const clock = stoppedClock();
    const guard = documents({ now: clock.now });
    await guard.resolve(url, free);
    clock.pass(599);
    await guard.resolve(url, free);
    expect(requests).toHaveLength(1);
    clock.pass(1);
    await guard.resolve(url, free);
    expect(requests).toHaveLength(2);
  });

  it('for token requests even if its host is gone', async () => {
    const server = await host();
    const clock = stoppedClock();
    const guard = documents({ now: clock.now });
    expect(guard.snapshot(server.url)).toBeUndefined();
    const result = await guard.resolve(server.url, free);
    await server.close();
    clock.pass(100_000);
    expect(await guard.resolve(server.url, free)).toMatchObject({ ok: false });
    expect(guard.snapshot(server.url)).toEqual(result.ok && result.client);
  });

  it('until others were used more recently', async () => {
    const { url, requests } = await host();
    const guard = documents({ cacheSize: 2 });
    const ask = (name: string) => guard.resolve(url.replace('client', name), free);
    for (const name of ['a', 'b', 'a', 'c', 'a', 'b']) await ask(name);
    expect(requests).toHaveLength(4);
    expect(guard.snapshot(url.replace('client', 'c'))).toBeUndefined();
  });
});
