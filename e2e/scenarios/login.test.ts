import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { startHttpBackend } from '../harness/backends/http.ts';
import { MCP_HEADERS, raw, REVISION, rpc, type RawResponse } from '../harness/clients/raw.ts';
import { freePort } from '../harness/free-port.ts';
import { startIdentityProvider, type IdentityProvider } from '../harness/identity-provider.ts';
import { entry, group, secret, virtualServer, yaml, type Manifest } from '../harness/manifests.ts';
import { blockScope, testScope, type Scope } from '../harness/scope.ts';
import { startVmcp, type Vmcp } from '../harness/vmcp.ts';
import { bearer, openBearerSession } from './bearer-session.ts';
import { bearerOf, startCredentialBackend, type CredentialBackend } from './credential-backend.ts';
import { ScriptedLogin } from './scripted-login.ts';
import { SDKS } from './sdk-login.ts';

interface Place {
  readonly provider: IdentityProvider;
  readonly vmcp: Vmcp;
  readonly vault: CredentialBackend;
  readonly audience: string;
}

const vaultToken = (tokenUrl: string): Manifest => ({
  apiVersion: 'vmcp.dev/v1alpha1',
  kind: 'MCPExternalAuthConfig',
  metadata: { name: 'vault-token' },
  spec: {
    type: 'tokenExchange',
    tokenExchange: {
      tokenUrl,
      clientId: 'vmcp',
      clientSecretRef: { name: 'gateway-client', key: 'secret' },
      audience: 'vault',
    },
  },
});

/** Starts a gateway that trusts the identity provider, over an open backend and one that requires exchanged tokens. */
async function start(scope: Scope, tokenSeconds: number): Promise<Place> {
  const provider = await startIdentityProvider(scope, { tokenSeconds });
  const plain = await startHttpBackend(scope, 'sdk-1-stateful', 'plain');
  const vault = await startCredentialBackend(scope, 'vault');
  vault.refuses = ({ authorization }) => authorization === undefined;
  const port = await freePort();
  const audience = `http://127.0.0.1:${String(port)}/mcp`;
  const inline = { issuer: provider.issuer, audience, scopes: ['mcp:use'] };
  const incomingAuth = { type: 'oidc', clockSkewSeconds: 0, oidcConfig: { type: 'inline', inline } };
  const files = {
    'gateway.yaml': yaml(
      group(),
      virtualServer({}, { incomingAuth }),
      entry('plain', plain.url),
      entry('vault', vault.url, 'streamable-http', { externalAuthConfigRef: { name: 'vault-token' } }),
      vaultToken(provider.tokenUrl),
      secret('gateway-client', { secret: 'vmcp-development-secret' }),
    ),
  };
  return { provider, vault, audience, vmcp: await startVmcp(scope, { files, port }) };
}

describe('a client that knows only the URL of the gateway', () => {
  let place: Place;
  const scope = blockScope();
  beforeAll(async () => {
    place = await start(scope, 3_600);
  });

  it.each(SDKS)('%s registers, logs in through the browser and calls a tool', async (name, connect) => {
    const user = `user-of-${name.replace(/\W+/gu, '-')}`;
    const login = new ScriptedLogin(user);
    const client = await connect(testScope(), place.vmcp.url, login);
    expect(await client.tools()).toEqual(expect.arrayContaining(['plain_echo', 'vault_whoami']));
    expect(await client.call('plain_echo', { text: 'hello' })).toBe('hello');
    expect(JSON.parse(await client.call('vault_whoami'))).toEqual({ sub: user, aud: 'vault' });
    expect(login.logins).toBe(1);
    await expect
      .poll(place.provider.lines)
      .toEqual(
        expect.arrayContaining([
          'registered the client "scripted client"',
          `issued a token: sub ${user}, aud ${place.audience}`,
          `exchanged a token: sub ${user}, aud vault, for vmcp`,
        ]),
      );
  });

  it('finds the issuer through 401 and the metadata document', async () => {
    const answer = await raw(place.vmcp.url, { method: 'POST', headers: MCP_HEADERS, body: rpc('tools/list') });
    const metadata = `${place.vmcp.origin}/.well-known/oauth-protected-resource/mcp`;
    expect(answer.status).toBe(401);
    expect(answer.headers['www-authenticate']).toBe(`Bearer resource_metadata="${metadata}", scope="mcp:use"`);
    const document: unknown = await (await fetch(metadata)).json();
    expect(document).toMatchObject({
      resource: place.audience,
      authorization_servers: [place.provider.issuer],
      scopes_supported: ['mcp:use'],
    });
  });

  it('gets 401 with a token for another server of the same provider', async () => {
    const token = await place.provider.token('eve', 'http://127.0.0.1:1/mcp');
    const headers = { ...MCP_HEADERS, ...bearer(token) };
    const answer = await raw(place.vmcp.url, { method: 'POST', headers, body: rpc('tools/list') });
    expect(answer.status).toBe(401);
    expect(answer.headers['www-authenticate']).toContain('error="invalid_token"');
  });
});

describe('two users', () => {
  let place: Place;
  const scope = blockScope();
  beforeAll(async () => {
    place = await start(scope, 3_600);
  });

  it('use different tokens at a backend', async () => {
    const login = { ann: await place.provider.token('ann', place.audience), bob: '' };
    login.bob = await place.provider.token('bob', place.audience);
    const sessions = {
      ann: await openBearerSession(place.vmcp.url, login.ann),
      bob: await openBearerSession(place.vmcp.url, login.bob),
    };
    const calls = Array.from({ length: 40 }, async (_, index) => {
      const user = index % 2 === 0 ? 'ann' : 'bob';
      const answer = await sessions[user].call('vault_whoami');
      expect(answer.status).toBe(200);
      expect(answer.body).toContain(`\\"sub\\":\\"${user}\\"`);
    });
    await Promise.all(calls);
    const seen = place.vault.seen.map(({ headers }) => bearerOf(headers)).filter((token) => token !== undefined);
    expect(new Set(seen).size).toBe(2);
    expect(seen).not.toContain(login.ann);
    expect(seen).not.toContain(login.bob);
  });

  /** Returns the parts of an answer that do not differ in every answer. */
  const visible = ({ status, headers, body }: RawResponse) => {
    const { date, 'x-request-id': requestId, ...others } = headers;
    expect({ date, requestId }).toBeDefined();
    return { status, headers: others, body };
  };

  it.each(['POST', 'GET', 'DELETE'])(
    '%s on the session of another user gets the answer for an unknown session',
    async (method) => {
      const ann = await openBearerSession(place.vmcp.url, await place.provider.token('ann', place.audience));
      const bob = bearer(await place.provider.token('bob', place.audience));
      const on = (id: string) =>
        raw(place.vmcp.url, {
          method,
          headers: { ...MCP_HEADERS, ...bob, 'mcp-session-id': id, 'mcp-protocol-version': REVISION },
          ...(method === 'POST' && { body: rpc('tools/list') }),
        });
      const foreign = visible(await on(ann.id));
      expect(foreign.status).toBe(404);
      expect(foreign).toEqual(visible(await on(randomUUID())));
      const owner = await ann.call('plain_echo', { text: 'still mine' });
      expect({ status: owner.status, body: owner.body }).toMatchObject({
        status: 200,
        body: expect.stringContaining('still mine') as unknown,
      });
    },
  );

  it('rejects requests in a session without a token', async () => {
    const ann = await openBearerSession(place.vmcp.url, await place.provider.token('ann', place.audience));
    const { authorization: _dropped, ...headers } = ann.headers as Record<string, string>;
    const answer = await raw(place.vmcp.url, { method: 'POST', headers, body: rpc('tools/list') });
    expect(answer.status).toBe(401);
    expect((await ann.call('plain_echo', { text: 'mine' })).status).toBe(200);
  });
});

describe('a token that expires during a session', () => {
  it.each(SDKS)('%s refreshes it and keeps its session', async (_name, connect) => {
    const { vmcp } = await start(testScope(), 3);
    const login = new ScriptedLogin('ann');
    const client = await connect(testScope(), vmcp.url, login);
    expect(await client.call('plain_echo', { text: 'first' })).toBe('first');
    const first = { token: login.accessToken, session: client.sessionId() };
    expect(first.session).toBeDefined();
    await sleep(3_500);
    expect(await client.call('plain_echo', { text: 'second' })).toBe('second');
    expect(JSON.parse(await client.call('vault_whoami'))).toEqual({ sub: 'ann', aud: 'vault' });
    expect(login.accessToken).not.toBe(first);
    expect(login.logins).toBe(1);
    expect(client.sessionId).toBeDefined();
  });
});
