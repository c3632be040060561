import { createServer, type AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { freePort } from '../../../../e2e/harness/free-port.ts';
import { openKeyValueStore } from '../../../kvstore/open.ts';
import type { Client } from '../../storage/records.ts';
import { METADATA_RULES } from '../../clients/testdata/rules.ts';
import type { AuthServerSettings } from '../../settings.ts';
import { kvstoreStore } from '../../storage/kvstore/store.ts';
import { createSealer } from '../../storage/sealing.ts';
import { settingsOf, silent, single } from '../../storage/testdata/redis-store.ts';
import { json, raw, scriptedProvider, type Answer } from '../../upstream/testdata/scripted-provider.ts';
import {
  browserServer,
  CLIENT,
  CLIENT_REDIRECT,
  type BrowserServer,
  type ServerOptions,
} from '../testdata/browser-server.ts';
import { scriptedOidc } from '../testdata/scripted-login.ts';

async function started(options: ServerOptions = {}): Promise<BrowserServer> {
  const corp = await scriptedOidc('corp');
  return browserServer(() => ({ corp: corp.entry }), options);
}

const ask = (server: BrowserServer, changes: Readonly<Record<string, string | undefined>> = {}, more = '') =>
  server.browser().visit(server.authorizeUrl(changes, more));

/** Expects an error page without a redirect. */
async function expectPage(answer: ReturnType<typeof ask>, code: string, status = 400) {
  const { status: answered, location, headers, page } = await answer;
  expect([answered, location]).toEqual([status, undefined]);
  expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(headers.get('cache-control')).toBe('no-store');
  expect(page).toContain(`<code>${code}</code>`);
}

describe('a request without a valid redirect URI shows a page and does not redirect', () => {
  it.each([
    ['row 12: unknown client_id', { client_id: 'vcl_2', redirect_uri: 'https://evil.example' }, '', 'invalid_client'],
    ['no client_id', { client_id: undefined }, '', 'invalid_request'],
    ['row 13: two client_id', {}, '&client_id=vcl_1', 'invalid_request'],
    ['row 13: two redirect_uri', {}, '&redirect_uri=https%3A%2F%2Fevil.example', 'invalid_request'],
    ['no redirect_uri', { redirect_uri: undefined }, '', 'invalid_request'],
  ])('%s', async (_what, changes, more, code) => {
    await expectPage(ask(await started(), changes, more), code);
  });

  const base = 'https://client.example/cb';
  it.each([
    ['row 7: another host', 'https://evil.example/cb'],
    ['row 8: suffix', `${CLIENT_REDIRECT}x`],
    ['row 8: prefix', base],
    ['row 8: subdomain', 'https://a.client.example/cb?from=vmcp'],
    ['row 8: @', 'https://client.example@evil.example/cb?from=vmcp'],
    ['row 8: backslash', 'https://evil.example\\@client.example/cb?from=vmcp'],
    ['row 8: %2f..', 'https://client.example/%2f../cb?from=vmcp'],
    ['row 8: tab', 'https://client.example/cb\t?from=vmcp'],
    ['row 8: host in capitals', 'https://CLIENT.example/cb?from=vmcp'],
    ['row 8: extra query', `${CLIENT_REDIRECT}&x=1`],
    ['row 8: fragment', `${CLIENT_REDIRECT}#x`],
    ['row 9: loopback with another path', 'http://127.0.0.1:7000/other'],
    ['row 9: loopback with another host', 'http://localhost:7000/cb'],
  ])('%s: %s', async (_row, redirectUri) => {
    await expectPage(ask(await started(), { redirect_uri: redirectUri }), 'invalid_request');
  });

  it('row 9: accepts a loopback redirect URI with another port', async () => {
    const { status, page } = await ask(await started(), { redirect_uri: 'http://127.0.0.1:51234/cb' });
    expect([status, page.includes('127.0.0.1:51234')]).toEqual([200, true]);
  });
});

const trusting: ServerOptions = {
  settings: { consent: { mode: 'remember', trustedClients: new Set([CLIENT.client_id]) } },
};

describe('an error for a client without an earlier approval', () => {
  it.each([
    ['a bad response_type', { response_type: 'token' }, 'unsupported_response_type'],
    ['prompt=none', { prompt: 'none' }, 'login_required'],
    ['a wrong scope', { scope: 'admin' }, 'invalid_scope'],
  ])('shows a page for %s', async (_what, changes, code) => {
    const { status, page, location } = await ask(await started(), changes);
    expect([status, location]).toEqual([400, undefined]);
    expect(page).toContain(`<code>${code}</code>`);
  });

  it('redirects to the client after the user has approved the client at this host', async () => {
    const corp = await scriptedOidc('corp');
    const server = await browserServer(() => ({ corp: corp.entry }));
    const browser = server.browser();
    const refused = (changes = {}) => browser.visit(server.authorizeUrl({ prompt: 'none', ...changes }));
    expect((await refused()).location).toBeUndefined();
    await server.toProvider(browser);
    expect((await refused()).location).toContain('error=login_required');
    expect((await refused({ redirect_uri: 'http://127.0.0.1:7000/cb' })).location).toBeUndefined();
    const stranger = server.browser();
    expect((await stranger.visit(server.authorizeUrl({ prompt: 'none' }))).location).toBeUndefined();
    server.advance(31 * 86_400_000);
    expect((await refused()).location).toBeUndefined();
  });
});

describe('an error for a trusted client', () => {
  it.each([
    ['row 13: two state parameters', {}, '&state=x', 'invalid_request', undefined],
    [
      'row 14: no challenge',
      { code_challenge: undefined, code_challenge_method: undefined },
      '',
      'invalid_request',
      's',
    ],
    ['row 14: plain', { code_challenge_method: 'plain' }, '', 'invalid_request', 's'],
    ['row 14: challenge without method', { code_challenge_method: undefined }, '', 'invalid_request', 's'],
    ['row 14: method without challenge', { code_challenge: undefined }, '', 'invalid_request', 's'],
    ['row 34: resource of another server', { resource: 'https://x.example/mcp' }, '', 'invalid_target', 's'],
    ['an unknown scope', { scope: 'admin' }, '', 'invalid_scope', 's'],
    ['an unsupported response_type', { response_type: 'token' }, '', 'unsupported_response_type', 's'],
    ['prompt=none', { prompt: 'none' }, '', 'login_required', 's'],
  ])(
    'redirects by 303 (row 65), uncached (row 64) and with state and iss (row 28): %s',
    async (_what, changes, more, error, state) => {
      const server = await started(trusting);
      const { status, headers, location, page } = await ask(server, { state: 's', ...changes }, more);
      expect(status).toBe(303);
      expect(page).toBe('');
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.get('referrer-policy')).toBe('no-referrer');
      expect(location?.startsWith(`${CLIENT_REDIRECT}&error=${error}&`)).toBe(true);
      const { searchParams } = new URL(location ?? '');
      expect(searchParams.get('iss')).toBe(server.issuer);
      expect(searchParams.get('state') ?? undefined).toBe(state);
      expect(server.events).toEqual([['request_refused', expect.objectContaining({ path: '/oauth/authorize' })]]);
    },
  );
});

const documents: NonNullable<AuthServerSettings['clients']['documents']> = {
  hosts: { allowedHosts: [], deniedHosts: [], allowLoopbackHttp: true },
  allowCrossOriginRedirects: true,
  cacheSize: 16,
  fallbackTtlMs: 300_000,
};
const withDocuments = (more: Partial<typeof documents> = {}): Partial<AuthServerSettings> => ({
  clients: { metadata: METADATA_RULES, maxRegistered: 0, documents: { ...documents, ...more } },
});

describe('a client id that is a URL', () => {
  const strict = withDocuments({ hosts: { ...documents.hosts, allowLoopbackHttp: false } });

  it('row 42: shows a page for an internal address, without a connection', async () => {
    let connections = 0;
    const listener = createServer((socket) => {
      connections += 1;
      socket.destroy();
    });
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void listener.close());
    const port = String((listener.address() as AddressInfo).port);
    const server = await started({ settings: strict });
    const hosts = ['127.0.0.1', 'localhost', '[::1]', '[::ffff:127.0.0.1]', '2130706433', '0x7f000001', '0177.0.0.1'];
    const inside = ['10.0.0.1', '169.254.169.254', '[::ffff:10.0.0.1]', '[64:ff9b::a00:1]', '192.168.1.1', '[fd00::1]'];
    for (const host of [...hosts.map((name) => `${name}:${port}`), ...inside])
      await expectPage(ask(server, { client_id: `https://${host}/client.json` }), 'invalid_client');
    expect(connections).toBe(0);
  });

  it.each<[string, Answer]>([
    ['11 KB', (res, request) => json({ padding: 'x'.repeat(11 * 1024) })(res, request)],
    ['HTML', raw(200, { 'content-type': 'text/html' }, '<p>no</p>')],
    [
      'another client_id',
      json({ client_id: 'https://evil.example/c', client_name: 'x', redirect_uris: [CLIENT_REDIRECT] }),
    ],
    [
      'a gzip bomb',
      raw(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }, gzipSync(Buffer.alloc(4e6, ' '))),
    ],
    ['a slow drip', (res) => void res.writeHead(200, { 'content-type': 'application/json' }).write('{')],
    ['a redirect', raw(302, { location: 'http://127.0.0.1:1/' })],
  ])('row 43: shows a page in time when the document server answers with %s', async (_what, answer) => {
    const host = await scriptedProvider();
    host.answers['client.json'] = answer;
    const server = await started({ settings: withDocuments() });
    const before = performance.now();
    await expectPage(ask(server, { client_id: host.url('client.json') }), 'invalid_client');
    expect(performance.now() - before).toBeLessThan(8_000);
  });

  it.each([
    'http://client.example/c',
    'https://u:p@client.example/c',
    'https://client.example/a/../c',
    'https://client.example/c#f',
  ])('row 43: shows a page for %s', async (clientId) => {
    await expectPage(ask(await started({ settings: strict }), { client_id: clientId }), 'invalid_client');
  });

  it('shows the name and host of its document on the consent page', async () => {
    const host = await scriptedProvider();
    const id = host.url('client.json');
    host.answers['client.json'] = json({ client_id: id, client_name: 'Doc', redirect_uris: [CLIENT_REDIRECT] });
    const server = await started({ settings: withDocuments() });
    const consent = await server.toConsent(server.browser(), { client_id: id });
    expect(consent.page).toContain('Doc');
    expect(consent.page).toContain(`published at <bdi>${new URL(id).host}</bdi>`);
  });

  it('row 44: limits document requests per address', async () => {
    const host = await scriptedProvider();
    const limits = { capacity: 3, perSecond: 0.01 };
    const server = await started({ settings: withDocuments() });
    const { settings } = server.context;
    const limited = await started({
      settings: { ...withDocuments(), limits: { ...settings.limits, documentFetchesPerAddress: limits } },
    });
    const answers = [];
    for (let index = 0; index < 8; index += 1)
      answers.push(await ask(limited, { client_id: host.url(`random-${String(index)}`) }));
    expect(answers.map(({ status }) => status)).toEqual([400, 400, 400, 429, 429, 429, 429, 429]);
    expect(answers.at(-1)?.headers.get('retry-after')).toMatch(/^\d+$/u);
    expect(host.seen).toHaveLength(3);
  });
});

it('answers 429 with Retry-After to too many requests of one address, and 405 to other methods', async () => {
  const server = await started();
  const { limits } = server.context.settings;
  const few = await started({
    settings: { limits: { ...limits, authorizationsPerAddress: { capacity: 2, perSecond: 0.1 } } },
  });
  const answers = [await ask(few), await ask(few), await ask(few)];
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
  expect(answers[2]?.headers.get('retry-after')).toBe('10');
  const put = await fetch(server.authorizeUrl(), { method: 'PUT' });
  expect([put.status, put.headers.get('allow')]).toEqual([405, 'GET, POST']);
  expect(put.headers.get('access-control-allow-origin')).toBeNull();
  const form = await fetch(`${server.issuer}/oauth/authorize`, { method: 'POST', body: '{}' });
  expect([form.status, form.headers.get('content-type')]).toEqual([415, 'text/html; charset=utf-8']);
});

it('row 49: ignores the Host header in URLs', async () => {
  const server = await started({ elsewhere: true });
  const forged = { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https', forwarded: 'host=evil.example' };
  const { location } = await server.browser().visit(server.authorizeUrl(), undefined, forged);
  expect(location?.startsWith(`${server.issuer}/oauth/consent?`)).toBe(true);
});

it('row 67: answers 503 with Retry-After at every step while the store is down', async () => {
  const connection = openKeyValueStore(settingsOf(single(await freePort())), silent);
  const store = kvstoreStore(
    connection,
    createSealer(() => [Buffer.alloc(32, 'secret of the test')]),
    Date.now,
  );
  onTestFinished(() => store.close());
  const server = await started({ store, clients: [] as Client[] });
  const paths = [
    server.authorizeUrl(),
    `${server.issuer}/oauth/consent?transaction=x`,
    `${server.callbackUrl}?state=x&code=y`,
  ];
  for (const url of paths) {
    const { status, headers } = await server.browser().visit(url);
    expect([status, headers.get('retry-after')]).toEqual([503, '5']);
  }
});

it('sends prompt=login to the provider for prompt=login and for max_age=0', async () => {
  const server = await started();
  const leg = async (changes: Readonly<Record<string, string>>) =>
    new URL(await server.toProvider(server.browser(), changes)).searchParams.get('prompt');
  expect(await leg({})).toBeNull();
  expect(await leg({ prompt: 'login' })).toBe('login');
  expect(await leg({ max_age: '0' })).toBe('login');
});
