import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { eventually } from '../../../e2e/harness/poll.ts';
import {
  CLIENT_ID,
  json,
  openidProvider,
  type ScriptedProvider,
} from '../../authserver/upstream/testdata/scripted-provider.ts';
import { ECHO, upstreamDocument } from './document/testdata/records.ts';
import { Registry, type RegistryOptions } from './registry.ts';
import { protocolAnswers, startRegistry } from './testdata/registry-server.ts';

const silent = (): void => undefined;

/** Secrets in a map. */
function makeSecrets() {
  const values = new Map<string, string>();
  const secrets = {
    get: async (name: string) => values.get(name),
    set: async (name: string, value: string) => void values.set(name, value),
    delete: async (name: string) => values.delete(name),
  };
  return { values, secrets };
}

async function setUp(options: Partial<RegistryOptions> = {}) {
  const provider = await openidProvider();
  const registry = await startRegistry();
  const answers = protocolAnswers([[ECHO]]);
  let accepted = 'Bearer access-1';
  registry.answer((path, query, headers) =>
    headers.authorization === accepted ? answers(path, query) : { status: 401 },
  );
  const stateDir = mkdtempSync(join(tmpdir(), 'vmcp-registry-login-'));
  onTestFinished(() => {
    rmSync(stateDir, { recursive: true, force: true });
  });
  const warnings: string[] = [];
  const log = { warn: (message: string) => void warnings.push(message), info: silent, debug: silent };
  const open = (more: Partial<RegistryOptions> = {}) =>
    new Registry({ stateDir, isReadOnly: false, now: Date.now, log, loginPorts: [0], ...options, ...more });
  const settings = {
    api_url: registry.url,
    allow_private_ip: true,
    auth: { issuer: provider.issuer, client_id: CLIENT_ID, audience: 'registry', scopes: ['servers'] },
  };
  const service = open();
  await service.update(settings);
  const accept = (token: string) => (accepted = `Bearer ${token}`);
  return { provider, registry, service, open, settings, warnings, accept };
}

/** Answers the authorization request as the provider and the browser of the user do. */
async function answerLogin(
  provider: ScriptedProvider,
  url: string,
  change: Record<string, string> = {},
  until: Promise<unknown> = Promise.resolve(),
) {
  const { searchParams } = new URL(url);
  const parameter = (name: string) => searchParams.get(name) ?? '';
  const nonce = parameter('nonce');
  const tokens = { access_token: 'access-1', token_type: 'Bearer', expires_in: 3_600, refresh_token: 'refresh-1' };
  const issue = json({ ...tokens, id_token: provider.idToken({ nonce }) });
  provider.answers['token'] = async (res, request) => {
    await until;
    issue(res, request);
  };
  const redirect = new URL(parameter('redirect_uri'));
  const answer = { code: 'code-1', state: parameter('state'), ...change };
  for (const [name, value] of Object.entries(answer)) redirect.searchParams.set(name, value);
  return fetch(redirect);
}

const statusOf = async (service: Registry) => (await service.summary()).auth_status;
const logIn = async (service: Registry, provider: ScriptedProvider) => {
  const pending = await service.logIn();
  await answerLogin(provider, pending!.authorizationUrl);
  await eventually('vmcp is logged in', async () => (await service.logIn()) === undefined);
};

it('logs in with PKCE and sends the token to the registry', async () => {
  const { provider, registry, service, settings } = await setUp();
  await expect(service.entries()).rejects.toMatchObject({ code: 'registry_auth_required' });
  const pending = await service.logIn();
  const { searchParams } = new URL(pending!.authorizationUrl);
  expect(Object.fromEntries(searchParams)).toMatchObject({
    ...{ client_id: CLIENT_ID, response_type: 'code', scope: 'openid servers', audience: 'registry' },
    ...{ code_challenge_method: 'S256', redirect_uri: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/callback$/u) },
  });
  const page = await answerLogin(provider, pending!.authorizationUrl);
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('You are logged in.')]);
  await eventually('vmcp is logged in', async () => (await service.logIn()) === undefined);
  expect(await service.summary()).toMatchObject({
    ...{ auth_status: 'authenticated', auth_type: 'oauth', auth_config: settings.auth, server_count: 1 },
  });
  expect(registry.last().authorization).toBe('Bearer access-1');
  const [exchange] = provider.to('token');
  expect(exchange?.form.get('code_verifier')).toMatch(/^[\w-]{43}$/u);
  expect(exchange?.headers.authorization).toBeUndefined();
});

it('ignores a redirect with another state, and stays logged out after an error', async () => {
  const { provider, service, warnings } = await setUp();
  const pending = await service.logIn();
  expect((await answerLogin(provider, pending!.authorizationUrl, { state: 'forged' })).status).toBe(400);
  expect(provider.to('token')).toEqual([]);
  await answerLogin(provider, pending!.authorizationUrl, { error: 'access_denied' });
  await eventually('the attempt ends', () => warnings.includes('the login at the registry failed'));
  await expect(service.entries()).rejects.toMatchObject({ code: 'registry_auth_required' });
});

it('ends an earlier login attempt', async () => {
  const { provider, service } = await setUp();
  const first = await service.logIn();
  const second = await service.logIn();
  const early = await answerLogin(provider, first!.authorizationUrl).catch(() => undefined);
  expect(early?.status).not.toBe(200);
  expect(provider.to('token')).toEqual([]);
  await answerLogin(provider, second!.authorizationUrl);
  await eventually('vmcp is logged in', async () => (await service.logIn()) === undefined);
});

it('stores the login among the secrets, and refreshes an expired token after a restart', async () => {
  const { secrets, values } = makeSecrets();
  const { provider, registry, service, open, accept } = await setUp({ secrets });
  await logIn(service, provider);
  expect([...values.keys()]).toEqual(['login']);
  provider.answers['token'] = json({ access_token: 'access-2', token_type: 'Bearer', expires_in: 3_600 });
  accept('access-2');
  const later = Date.now() + 3_600_000;
  const restarted = open({ now: () => later });
  await Promise.all([restarted.entries(), restarted.entries()]);
  expect(registry.last().authorization).toBe('Bearer access-2');
  const refreshes = provider.to('token').filter(({ form }) => form.get('grant_type') === 'refresh_token');
  expect(refreshes.map(({ form }) => form.get('refresh_token'))).toEqual(['refresh-1']);
  expect(values.get('login')).toContain('access-2');
});

it('demands a new login when the provider has ended the old one', async () => {
  let now = Date.now();
  const { provider, service } = await setUp({ now: () => now });
  await logIn(service, provider);
  provider.answers['token'] = json({ error: 'invalid_grant' }, 400);
  now += 3_600_000;
  await expect(service.entries()).rejects.toMatchObject({ code: 'registry_auth_required' });
  provider.answers['token'] = json({}, 503);
  expect(await service.logIn()).toMatchObject({ authorizationUrl: expect.any(String) });
});

it('keeps the login in memory when the secrets cannot be written', async () => {
  const broken = { ...makeSecrets().secrets, set: () => Promise.reject(new Error('not set up')) };
  const { provider, service, warnings } = await setUp({ secrets: broken });
  await logIn(service, provider);
  expect(await statusOf(service)).toBe('authenticated');
  expect(warnings).toContain('the login at the registry is kept in memory only: set up a secrets provider');
});

it('forgets tokens and content at the logout and when the settings change', async () => {
  const { secrets, values } = makeSecrets();
  const { provider, service, settings } = await setUp({ secrets });
  await logIn(service, provider);
  expect(await statusOf(service)).toBe('authenticated');
  await service.logOut();
  expect(values.size).toBe(0);
  await expect(service.entries()).rejects.toMatchObject({ code: 'registry_auth_required' });

  await logIn(service, provider);
  await service.update(settings);
  expect(values.size).toBe(0);
  await service.update({});
  expect(await service.summary()).toMatchObject({ auth_status: 'none', auth_type: '', type: 'default' });
  await expect(service.logOut()).rejects.toMatchObject({ code: 'no_auth' });
});

it('drops tokens that the provider issues after the logout', async () => {
  const { secrets, values } = makeSecrets();
  const { provider, service, warnings } = await setUp({ secrets });
  const pending = await service.logIn();
  const issue = Promise.withResolvers<boolean>();
  await answerLogin(provider, pending!.authorizationUrl, {}, issue.promise);
  await eventually('vmcp redeems the code', () => provider.to('token').length === 1);
  await service.logOut();
  issue.resolve(true);
  await eventually('the attempt ends', () => warnings.includes('the login at the registry failed'));
  expect([values.size, await statusOf(service).catch(() => 'none')]).toEqual([0, 'none']);
});

it('keeps the settings when the stored login cannot be deleted', async () => {
  const { secrets, values } = makeSecrets();
  const { provider, service, registry } = await setUp({
    secrets: { ...secrets, delete: () => Promise.reject(new Error('disk full')) },
  });
  await logIn(service, provider);
  await expect(service.update({})).rejects.toThrow('disk full');
  expect(values.size).toBe(1);
  expect(await service.summary()).toMatchObject({ source: registry.url, auth_status: 'authenticated' });
});

it('does not use tokens of another client', async () => {
  const { secrets, values } = makeSecrets();
  const { service } = await setUp({ secrets });
  const stored = {
    issuer: 'https://other.example.com',
    client_id: CLIENT_ID,
    subject: 'ann',
    access_token: 'access-1',
  };
  values.set('login', JSON.stringify(stored));
  await expect(service.entries()).rejects.toMatchObject({ code: 'registry_auth_required' });
});

it('rejects the login when the provider or every port cannot be used', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => taken.once('listening', resolve));
  onTestFinished(() => void taken.close());
  const { port } = taken.address() as AddressInfo;
  const { provider, open } = await setUp();
  await expect(open({ loginPorts: [port] }).logIn()).rejects.toMatchObject({ code: 'login_failed' });
  await provider.stop();
  await expect(open().logIn()).rejects.toMatchObject({ code: 'login_failed' });
});

it('accepts a document that requires a login only together with auth', async () => {
  const { provider, registry, service, settings } = await setUp();
  const { auth, allow_private_ip } = settings;
  const url = `${registry.url}/registry.json`;
  await expect(service.update({ url, allow_private_ip })).rejects.toMatchObject({ code: 'bad_document' });
  expect(await service.update({ url, allow_private_ip, auth })).toBe('url');
  registry.answer((_path, _query, { authorization }) =>
    authorization === 'Bearer access-1' ? { body: upstreamDocument() } : { status: 401 },
  );
  await logIn(service, provider);
  expect((await service.entries()).servers.size).toBe(1);
});
