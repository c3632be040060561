import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { decodeJwt } from 'jose';
import { beforeAll, describe, expect, it } from 'vitest';
import { createAuthority } from '../../../gateway/outbound/testdata/authority.ts';
import { ScriptedBrowser } from '../../harness/browser/scripted-browser.ts';
import { MCP_HEADERS, raw, rpc } from '../../harness/clients/raw.ts';
import { freePort } from '../../harness/free-port.ts';
import { eventually } from '../../harness/poll.ts';
import { blockScope, testScope, type Scope } from '../../harness/scope.ts';
import { temporaryFolder } from '../../harness/vmcp.ts';
import { bearer } from '../bearer-session.ts';
import { CLIENT_METADATA, ScriptedLogin } from '../scripted-login.ts';
import { SDKS } from '../sdk-login.ts';
import { restart, startAuthServer, type Gateway } from './gateway.ts';
import { newKeys } from './manifests.ts';
import { OAuthClient } from './oauth-client.ts';
import { credentialAt, type BackendName } from './surroundings.ts';

const authority = createAuthority('authority of the tests');
const scope = blockScope();
let gateway: Gateway;
let documentUrl: string;
let env: Readonly<Record<string, string>>;

beforeAll(async () => {
  const caFile = join(await temporaryFolder(scope), 'ca.pem');
  await writeFile(caFile, authority.cert);
  documentUrl = await publishDocument(scope);
  env = { NODE_EXTRA_CA_CERTS: caFile };
  const authServer = { cimd: { allowLoopbackHTTP: true } };
  gateway = await startAuthServer(scope, { authServer }, { env });
});

/** Publishes a metadata document of the scripted client over TLS, which client libraries require, and returns its URL. */
async function publishDocument(owner: Scope): Promise<string> {
  const server = createServer(authority.sign('DNS:localhost,IP:127.0.0.1'), (_req, res) => {
    res.writeHead(200, { 'content-type': 'application/json' });
    res.end(JSON.stringify({ ...CLIENT_METADATA, client_id: documentUrl }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  owner.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  return `https://127.0.0.1:${String((server.address() as AddressInfo).port)}/client.json`;
}

const initialize = (token: string) =>
  raw(gateway.url, { method: 'POST', headers: { ...MCP_HEADERS, ...bearer(token) }, body: rpc('tools/list') });

const revoke = (token: string, clientId: string) =>
  fetch(`${gateway.issuer}/oauth/revoke`, {
    method: 'POST',
    body: new URLSearchParams({ token, client_id: clientId }),
  });

/** Returns the credentials that the three backends received for one login. */
const credentials = (): Record<BackendName, string> => {
  const { files, posts, vault } = gateway.around.backends;
  return { files: credentialAt(files) ?? '', posts: credentialAt(posts) ?? '', vault: credentialAt(vault) ?? '' };
};

const WAYS = SDKS.flatMap(([name, connect]) => [
  { name, connect, how: 'registers' as const },
  { name, connect, how: 'publishes its metadata' as const },
]);

describe('a client that knows only the URL of the gateway', () => {
  it('finds the authorization server', async () => {
    const answer = await raw(gateway.url, { method: 'POST', headers: MCP_HEADERS, body: rpc('tools/list') });
    const metadata = `${gateway.issuer}/.well-known/oauth-protected-resource/mcp`;
    expect(answer.status).toBe(401);
    expect(answer.headers['www-authenticate']).toContain(`resource_metadata="${metadata}"`);
    const document: unknown = await (await fetch(metadata)).json();
    expect(document).toMatchObject({ resource: gateway.url, authorization_servers: [gateway.issuer] });
  });

  it.each(WAYS)(
    '$name $how, logs in at two providers, calls three backends, refreshes and revokes',
    async ({ name, connect, how }) => {
      const user = `${name}-${how}`.toLowerCase().replaceAll(/\W+/gu, '-');
      const published = how === 'publishes its metadata' ? { clientMetadataUrl: documentUrl } : {};
      const login = new ScriptedLogin(user, published);
      const client = await connect(testScope(), gateway.url, login);
      if (how === 'publishes its metadata') expect(login.clientId).toBe(documentUrl);
      else expect(login.clientId).not.toBe('');
      expect(login.logins).toBe(1);
      expect(login.browser.visited.map(({ host }) => host)).toEqual(
        expect.arrayContaining([
          new URL(gateway.around.corp.issuer).host,
          new URL(gateway.around.chat.tokenEndpoint).host,
        ]),
      );

      expect(await client.tools()).toEqual(expect.arrayContaining(['files_whoami', 'posts_whoami', 'vault_whoami']));
      expect(JSON.parse(await client.call('files_whoami'))).toMatchObject({ sub: user });
      expect(JSON.parse(await client.call('posts_whoami'))).toEqual({ opaque: true });
      const { sub } = decodeJwt(login.accessToken);
      expect(JSON.parse(await client.call('vault_whoami'))).toEqual({ sub, aud: 'vault' });
      const sent = credentials();
      expect(decodeJwt(sent.files).iss).toBe(gateway.around.corp.issuer);
      expect(gateway.around.chat.userOf(sent.posts)).toBe(user);
      expect(decodeJwt(sent.vault).iss).toBe(gateway.around.exchanger.url);
      expect(new Set([...Object.values(sent), login.accessToken]).size).toBe(4);

      const before = login.accessToken;
      login.spoilAccessToken();
      expect(JSON.parse(await client.call('files_whoami'))).toMatchObject({ sub: user });
      expect({ logins: login.logins, grants: login.grants }).toEqual({ logins: 1, grants: 2 });
      expect(login.accessToken).not.toBe(before);
      expect(decodeJwt(login.accessToken).sub).toBe(sub);

      const revoked = login.accessToken; // the client logs in again as soon as its stream is refused
      expect((await revoke(login.refreshToken, login.clientId)).status).toBe(200);
      await eventually('the access token is refused', async () => (await initialize(revoked)).status === 401, {
        timeoutMs: 6_000,
      });
      const refused = await initialize(revoked);
      expect(refused.headers['www-authenticate']).toContain('error="invalid_token"');
    },
  );
});

it.each(SDKS)('%s logs in at the URL with a slash at its end', async (name, connect) => {
  const user = `slash-${name}`.toLowerCase().replaceAll(/\W+/gu, '-');
  const login = new ScriptedLogin(user);
  const client = await connect(testScope(), `${gateway.url}/`, login);
  expect(JSON.parse(await client.call('files_whoami'))).toMatchObject({ sub: user });
  expect(decodeJwt(login.accessToken).aud).toBe(gateway.url);
});

describe('without a way to the hosts of clients', () => {
  it('clients register instead of showing their document, until a probe reaches a host', async () => {
    const own = testScope();
    const port = await freePort();
    const clientMetadataUrl = `https://127.0.0.1:${String(port)}/client.json`;
    const described = {
      clientId: 'https://codex.example/clients/*/client.json',
      clientName: 'Codex',
      redirectUris: ['http://127.0.0.1/callback/*'],
    };
    const cutOff = await startAuthServer(
      own,
      {
        authServer: { cimd: { allowLoopbackHTTP: true, documents: [described], deniedHosts: ['denied.example'] } },
      },
      { env },
    );
    const isAdvertised = async (): Promise<unknown> =>
      (await OAuthClient.discover(cutOff.issuer)).client_id_metadata_document_supported;
    const problems = async (): Promise<unknown> =>
      ((await (await fetch(`${cutOff.vmcp.management}/status`)).json()) as { problems: unknown }).problems;
    const authorize = (clientId: string, redirectUri: string) =>
      fetch(
        `${cutOff.issuer}/oauth/authorize?${String(
          new URLSearchParams({
            ...{ client_id: clientId, redirect_uri: redirectUri, response_type: 'code', resource: cutOff.url },
            ...{ code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM', code_challenge_method: 'S256' },
          }),
        )}`,
      );
    expect(await isAdvertised()).toBe(true);
    const page = await authorize(clientMetadataUrl, 'https://client.example/cb');
    expect([page.status, await page.text()]).toEqual([400, expect.stringContaining('cimd.documents')]);
    for (const [id, ...parts] of [
      [clientMetadataUrl, new URL(clientMetadataUrl).host, 'no connection', 'register here instead'],
      ['https://denied.example/client.json', 'denied.example', 'cimd.deniedHosts'],
      ['https://10.1.2.3/client.json', '10.1.2.3', 'private address', 'cimd.documents'],
    ] as const) {
      const text = await (await authorize(id, 'https://client.example/cb')).text();
      for (const part of parts) expect(text, id).toContain(part);
      expect(text).not.toContain('maker');
      const [, pageUrl = ''] = /<a href="([^"]*)"/u.exec(text) ?? [];
      expect(pageUrl).toBe(`${cutOff.issuer}/`);
      expect(await (await fetch(pageUrl, { headers: { accept: 'text/html' } })).text()).toContain(cutOff.url);
    }
    expect(await isAdvertised()).toBe(false);
    expect(await problems()).toMatchObject([
      { reason: 'ClientDocumentsUnreachable', message: expect.stringContaining('cimd.documents') },
    ]);

    const [[, connect]] = SDKS;
    const login = new ScriptedLogin('ann', { clientMetadataUrl });
    const client = await connect(own, cutOff.url, login);
    expect(JSON.parse(await client.call('files_whoami'))).toMatchObject({ sub: 'ann' });
    expect(login.clientId).toMatch(/^vcl_/u);

    const id = 'https://codex.example/clients/3f9a/client.json';
    const consent = await authorize(id, 'http://127.0.0.1:1455/callback/3f9a');
    expect([consent.status, await consent.text()]).toEqual([200, expect.stringContaining('Codex')]);
    expect((await authorize(id, 'http://127.0.0.1:1455/other/3f9a')).status).toBe(400);

    await listenAt(own, port);
    await expect.poll(isAdvertised, { timeout: 15_000, interval: 200 }).toBe(true);
    expect(await problems()).toEqual([]);
  });
});

/** Answers every connection at a port with an error: for a probe it is enough that a host can be reached. */
async function listenAt(owner: Scope, port: number): Promise<void> {
  const server = createServer(authority.sign('DNS:localhost,IP:127.0.0.1'), (_req, res) => {
    res.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  owner.defer(() => {
    server.closeAllConnections();
    server.close();
  });
}

describe('a credential of a login', () => {
  it('reaches only its own backend', () => {
    const { files, posts, vault } = gateway.around.backends;
    const issuers = (tokens: readonly (string | undefined)[]) =>
      new Set(tokens.filter((token) => token?.startsWith('ey')).map((token) => decodeJwt(token ?? '').iss));
    const seen = ({ seen: requests }: typeof files) =>
      requests.map(({ headers }) => headers.authorization?.replace('Bearer ', '')).filter((one) => one !== undefined);
    expect(issuers(seen(files))).toEqual(new Set([gateway.around.corp.issuer]));
    expect(issuers(seen(vault))).toEqual(new Set([gateway.around.exchanger.url]));
    expect(seen(posts).filter((token) => !gateway.around.chat.issued.has(token))).toEqual([]);
  });
});

const ROOM = 2;
const RATES = { registrationsPerMinute: 1_000, registrationsPerMinuteOverall: 1_000 };

it('row 114: clients register and log in while the table of clients is full, and after a restart', async () => {
  const scope = testScope();
  const gateway = await startAuthServer(scope, {
    keys: newKeys(),
    authServer: { storage: { type: 'memory', maxDCRClients: ROOM }, rateLimits: RATES },
  });
  const flood = async () => {
    for (let count = 0; count < 5 * ROOM; count += 1) {
      const body = JSON.stringify(CLIENT_METADATA);
      const headers = { 'content-type': 'application/json' };
      const made = await fetch(`${gateway.issuer}/oauth/register`, { method: 'POST', headers, body });
      expect(made.status).toBe(201);
    }
  };
  await flood();
  for (const [name, connect] of SDKS) {
    const user = name.toLowerCase().replaceAll(/\W+/gu, '-');
    const login = new ScriptedLogin(user);
    const closing: (() => unknown)[] = [];
    const client = await connect({ defer: (stop) => void closing.push(stop) }, gateway.url, login);
    expect(login.clientId).toMatch(/^vcl_[\w-]{8}\.[\w-]{100,300}$/u);
    expect(decodeJwt(login.accessToken)['client_id']).toBe(login.clientId);
    await flood();
    login.spoilAccessToken();
    expect(JSON.parse(await client.call('files_whoami'))).toMatchObject({ sub: user });
    expect({ logins: login.logins, grants: login.grants }).toEqual({ logins: 1, grants: 2 });
    for (const stop of closing) await stop(); // before the restart, which ends the logins
  }
  const late = await OAuthClient.register(gateway.issuer);
  for (const unknown of ['vcl_unknown', late.client.client_id.slice(0, -1), `${late.client.client_id}=`]) {
    const page = await fetch(`${gateway.issuer}/oauth/authorize?client_id=${encodeURIComponent(unknown)}`);
    expect([page.status, await page.text()]).toEqual([400, expect.stringContaining('not known here')]);
  }
  await restart(scope, gateway);
  expect((await late.login(new ScriptedBrowser({ user: 'ann' }))).access_token).toBeDefined();
});
