import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { decodeJwt } from 'jose';
import { beforeAll, describe, expect, it } from 'vitest';
import { startHttpBackend } from '../harness/backends/http.ts';
import { MCP_HEADERS, raw, rpcReply, type RawResponse } from '../harness/clients/raw.ts';
import { startIssuer, type Issuer } from '../harness/issuer.ts';
import { entry, group, secret, virtualServer, yaml, type Manifest } from '../harness/manifests.ts';
import { eventually } from '../harness/poll.ts';
import { blockScope, testScope, type Scope } from '../harness/scope.ts';
import { startGateway, startVmcp, temporaryFolder, vmcpResult, writeFiles, type Vmcp } from '../harness/vmcp.ts';
import { bearer, openBearerSession } from './bearer-session.ts';
import { bearerOf, startCredentialBackend, type CredentialBackend } from './credential-backend.ts';

const KEY = 'key-for-the-archive';

const strategy = (name: string, type: string, block: object): Manifest => ({
  apiVersion: 'vmcp.dev/v1alpha1',
  kind: 'MCPExternalAuthConfig',
  metadata: { name },
  spec: { type, [type]: block },
});

const exchangeAt = ({ tokenUrl, clientId }: Issuer, name: string, more: object = {}): Manifest =>
  strategy(name, 'tokenExchange', {
    tokenUrl,
    clientId,
    clientSecretRef: { name: 'gateway-client', key: 'secret' },
    audience: name,
    ...more,
  });

const archiveKey = strategy('archive', 'headerInjection', {
  headerName: 'X-Api-Key',
  valueSecretRef: { name: 'archive', key: 'api-key' },
});

const referTo = (name: string) => ({ externalAuthConfigRef: { name } });

/** Returns the resources of a gateway that trusts the issuer, over these entries. */
function files(issuer: Issuer, manifests: readonly Manifest[], spec: object = {}): Record<string, string> {
  const inline = { issuer: issuer.url, jwksUrl: issuer.jwksUrl, audience: 'vmcp' };
  const incomingAuth = { type: 'oidc', oidcConfig: { type: 'inline', inline } };
  const secrets = [secret('gateway-client', { secret: issuer.clientSecret }), secret('archive', { 'api-key': KEY })];
  return { 'gateway.yaml': yaml(group(), virtualServer({}, { incomingAuth, ...spec }), ...manifests, ...secrets) };
}

interface Place {
  readonly issuer: Issuer;
  readonly vmcp: Vmcp;
  readonly orders: CredentialBackend;
  readonly archive: CredentialBackend;
  readonly news: CredentialBackend;
}

/** Starts a gateway over a backend with exchanged tokens, one with an API key and one without a credential. */
async function start(scope: Scope): Promise<Place> {
  const issuer = await startIssuer(scope);
  const [orders, archive, news] = await Promise.all(
    ['orders', 'archive', 'news'].map((name) => startCredentialBackend(scope, name)),
  );
  if (!orders || !archive || !news) throw new Error('three backends');
  orders.refuses = ({ authorization }) => authorization === undefined;
  const manifests = [
    entry('orders', orders.url, 'streamable-http', referTo('orders')),
    entry('archive', archive.url, 'streamable-http', referTo('archive')),
    entry('news', news.url),
    exchangeAt(issuer, 'orders'),
    archiveKey,
  ];
  return { issuer, orders, archive, news, vmcp: await startVmcp(scope, { files: files(issuer, manifests) }) };
}

const exchanges = ({ seen }: Issuer) => seen.filter(({ endpoint }) => endpoint === 'token');
const calls = ({ seen }: CredentialBackend) => seen.filter(({ method }) => method === 'tools/call');

/** Returns the answer of `whoami`. */
function whoamiOf(answer: RawResponse): unknown {
  const { result, text } = rpcReply(answer);
  const [content] = (result?.['content'] ?? []) as { text?: string }[];
  if (content?.text === undefined) throw new Error(`HTTP ${String(answer.status)} ${text}`);
  return JSON.parse(content.text);
}

describe('source discovered: every backend chooses its credential', () => {
  let place: Place;
  const scope = blockScope();
  beforeAll(async () => {
    place = await start(scope);
  });

  it('each backend gets its own credential', async () => {
    const session = await openBearerSession(place.vmcp.url, place.issuer.token({ sub: 'ann' }));
    expect(whoamiOf(await session.call('orders_whoami'))).toEqual({ sub: 'ann', aud: 'orders' });
    expect(whoamiOf(await session.call('archive_whoami'))).toEqual({ key: KEY });
    expect(whoamiOf(await session.call('news_whoami'))).toEqual({});
  });

  it('the token exchange request follows RFC 8693, with the token of the user as subject', async () => {
    const token = place.issuer.token({ sub: 'carol' });
    const session = await openBearerSession(place.vmcp.url, token);
    await session.call('orders_whoami');
    const asked = exchanges(place.issuer).filter(({ form }) => form.get('subject_token') === token);
    expect(asked).toHaveLength(1);
    expect(Object.fromEntries(asked[0]!.form)).toEqual({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: token,
      subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      audience: 'orders',
    });
    const basic = Buffer.from(`${place.issuer.clientId}:${place.issuer.clientSecret}`).toString('base64');
    expect(asked[0]!.headers.authorization).toBe(`Basic ${basic}`);
  });

  it('no credential of the client reaches a backend, and no secret reaches a log or /status', async () => {
    const token = place.issuer.token({ sub: 'dora' });
    const session = await openBearerSession(place.vmcp.url, token);
    const more = { cookie: 'client=cookie', 'proxy-authorization': 'Basic Y2xpZW50', dpop: 'client-proof' };
    for (const backend of ['orders', 'archive', 'news']) {
      const answer = await session.post('tools/call', { name: `${backend}_whoami`, arguments: {} }, more);
      expect(answer.status).toBe(200);
    }
    for (const { seen } of [place.orders, place.archive, place.news]) {
      expect(seen).not.toHaveLength(0);
      for (const { headers, body } of seen) {
        const whole = JSON.stringify(headers) + body;
        for (const part of [token, session.id, ...Object.values(more)]) expect(whole).not.toContain(part);
      }
    }
    const shown = [place.vmcp.output()];
    for (const path of ['/status', '/api/backends/health', '/metrics']) {
      shown.push(await (await fetch(place.vmcp.management + path)).text());
    }
    for (const hidden of [...place.issuer.issued, KEY]) {
      for (const text of shown) expect(text).not.toContain(hidden);
    }
  });

  it('200 concurrent calls with a cold cache make one exchange', async () => {
    const token = place.issuer.token({ sub: 'erik' });
    const before = exchanges(place.issuer).length;
    place.issuer.delayMs = 200;
    const session = await openBearerSession(place.vmcp.url, token);
    const answers = await Promise.all(Array.from({ length: 200 }, () => session.call('orders_whoami')));
    place.issuer.delayMs = 0;
    for (const answer of answers) expect(whoamiOf(answer)).toEqual({ sub: 'erik', aud: 'orders' });
    expect(exchanges(place.issuer).length - before).toBe(1);
  });

  it('the rendered configuration names files, never values', async () => {
    const scope = testScope();
    const folder = await temporaryFolder(scope);
    await writeFiles(
      folder,
      files(place.issuer, [entry('archive', place.archive.url, 'streamable-http', referTo('archive')), archiveKey]),
    );
    const rendered = await vmcpResult(scope, ['render', folder]);
    expect(rendered.code).toBe(0);
    expect(rendered.stdout).toContain('"header_value_file"');
    expect(rendered.output).not.toContain(KEY);
    expect(rendered.output).not.toContain(place.issuer.clientSecret);
  });
});

describe('source inline: the gateway chooses the credential of each backend', () => {
  it('an unlisted backend gets no credential, even if it refers to one', async () => {
    const scope = testScope();
    const issuer = await startIssuer(scope);
    const listed = await startCredentialBackend(scope, 'listed');
    const unlisted = await startCredentialBackend(scope, 'unlisted');
    const manifests = [
      entry('listed', listed.url),
      entry('unlisted', unlisted.url, 'streamable-http', referTo('archive')),
      archiveKey,
    ];
    const backends = { listed: { type: 'externalAuthConfigRef', ...referTo('archive') } };
    const vmcp = await startVmcp(scope, {
      files: files(issuer, manifests, { outgoingAuth: { source: 'inline', backends } }),
    });
    const session = await openBearerSession(vmcp.url, issuer.token());
    expect(whoamiOf(await session.call('listed_whoami'))).toEqual({ key: KEY });
    expect(whoamiOf(await session.call('unlisted_whoami'))).toEqual({});
    for (const { headers } of unlisted.seen) expect(headers).not.toHaveProperty('x-api-key');
    for (const { headers } of listed.seen) expect(headers).toHaveProperty('x-api-key', KEY);
  });
});

describe('an exchanged token in a separate header', () => {
  it('leaves Authorization empty', async () => {
    const scope = testScope();
    const issuer = await startIssuer(scope);
    const orders = await startCredentialBackend(scope, 'orders');
    const manifests = [
      entry('orders', orders.url, 'streamable-http', referTo('orders')),
      exchangeAt(issuer, 'orders', { externalTokenHeaderName: 'X-Backend-Token' }),
    ];
    const vmcp = await startVmcp(scope, { files: files(issuer, manifests) });
    const session = await openBearerSession(vmcp.url, issuer.token({ sub: 'ann' }));
    expect((await session.call('orders_whoami')).status).toBe(200);
    const [call] = calls(orders);
    const [, token = ''] = /^Bearer (\S+)$/u.exec(String(call?.headers['x-backend-token'])) ?? [];
    expect(decodeJwt(token)).toMatchObject({ sub: 'ann', aud: 'orders' });
    for (const { headers } of orders.seen) expect(headers.authorization).toBeUndefined();
  });
});

describe('a backend that answers 401', () => {
  let place: Place;
  const scope = blockScope();
  beforeAll(async () => {
    place = await start(scope);
  });

  it('once: the token is exchanged again, and the second attempt succeeds', async () => {
    const session = await openBearerSession(place.vmcp.url, place.issuer.token({ sub: 'ann' }));
    expect(whoamiOf(await session.call('orders_whoami'))).toEqual({ sub: 'ann', aud: 'orders' });
    const revoked = bearerOf(calls(place.orders).at(-1)!.headers);
    const before = { exchanges: exchanges(place.issuer).length, calls: calls(place.orders).length };
    place.orders.refuses = (headers) => [undefined, revoked].includes(bearerOf(headers));
    expect(whoamiOf(await session.call('orders_whoami'))).toEqual({ sub: 'ann', aud: 'orders' });
    expect(exchanges(place.issuer).length - before.exchanges).toBe(1);
    expect(calls(place.orders).length - before.calls).toBe(2);
  });

  it('twice: this request gets a challenge, other requests work', async () => {
    const session = await openBearerSession(place.vmcp.url, place.issuer.token({ sub: 'bob' }));
    await session.call('orders_whoami');
    const before = { exchanges: exchanges(place.issuer).length, calls: calls(place.orders).length };
    place.orders.refuses = (_headers, method) => method === 'tools/call';
    const answer = await session.call('orders_whoami');
    expect(answer.status).toBe(401);
    expect(answer.headers['www-authenticate']).toMatch(
      /^Bearer resource_metadata="http:\/\/127\.0\.0\.1:\d+\/\.well-known\/oauth-protected-resource\/mcp".*error="invalid_token"/u,
    );
    expect(JSON.stringify(answer)).not.toContain('of the backend');
    expect(exchanges(place.issuer).length - before.exchanges).toBe(1);
    expect(calls(place.orders).length - before.calls).toBe(2);
    expect(whoamiOf(await session.call('news_whoami'))).toEqual({});
    expect(whoamiOf(await session.call('archive_whoami'))).toEqual({ key: KEY });
    const list = await session.post('tools/list');
    expect(list.status).toBe(200);
    place.orders.refuses = ({ authorization }) => authorization === undefined;
    expect(whoamiOf(await session.call('orders_whoami'))).toEqual({ sub: 'bob', aud: 'orders' });
  });

  it('to an API key: the client gets an error without a challenge, because a login would not help', async () => {
    const session = await openBearerSession(place.vmcp.url, place.issuer.token({ sub: 'carol' }));
    place.archive.refuses = (_headers, method) => method === 'tools/call';
    const answer = await session.call('archive_whoami');
    place.archive.refuses = () => false;
    expect(answer.status).toBe(200);
    expect(answer.body).not.toContain(KEY);
    const { result, error } = rpcReply(answer);
    expect(error !== undefined || result?.['isError'] === true).toBe(true);
    expect(whoamiOf(await session.call('archive_whoami'))).toEqual({ key: KEY });
  });
});

describe('a token endpoint', () => {
  let place: Place;
  const scope = blockScope();
  beforeAll(async () => {
    place = await start(scope);
  });

  it.each(['reset', 'status-500', 'html', 'garbage', 'empty', 'status-401', 'redirect', 'huge'] as const)(
    'with the fault %s fails only the calls of its backend, until it recovers',
    async (misbehaviour) => {
      const sub = `user-of-${misbehaviour}`;
      const session = await openBearerSession(place.vmcp.url, place.issuer.token({ sub }));
      expect(whoamiOf(await session.call('orders_whoami'))).toEqual({ sub, aud: 'orders' });
      const refreshed = bearer(place.issuer.token({ sub }));
      const callAgain = () => session.post('tools/call', { name: 'orders_whoami', arguments: {} }, refreshed);
      place.issuer.behave = { token: misbehaviour };
      const failed = await callAgain();
      expect(failed.status).toBe(200);
      expect(rpcReply(failed).result).toMatchObject({
        isError: true,
        content: [{ type: 'text', text: expect.stringContaining('backend "orders"') as unknown }],
      });
      for (const hidden of place.issuer.issued) expect(failed.body).not.toContain(hidden);
      expect(whoamiOf(await session.call('news_whoami'))).toEqual({});
      place.issuer.behave = {};
      expect(whoamiOf(await callAgain())).toEqual({ sub, aud: 'orders' });
    },
  );

  it('that rejects a subject of an earlier login makes the client log in again', async () => {
    const token = place.issuer.token({ sub: 'gone', iat: Math.floor(Date.now() / 1_000) - 600 });
    const session = await openBearerSession(place.vmcp.url, token);
    place.issuer.revoke(token);
    const answer = await session.call('orders_whoami');
    expect(answer.status).toBe(401);
    expect(answer.headers['www-authenticate']).toContain('error="invalid_token"');
    expect(whoamiOf(await session.call('news_whoami'))).toEqual({});
  });
});

describe('a secret file', () => {
  it('that changes on disk is used without a restart', async () => {
    const scope = testScope();
    const archive = await startCredentialBackend(scope, 'archive');
    const plain = await startHttpBackend(scope, 'sdk-1-stateless', 'plain');
    const folder = await temporaryFolder(scope);
    const keyFile = join(folder, 'api-key');
    await writeFile(keyFile, 'key-one\n');
    const rendered = await vmcpResult(scope, ['render', await written(scope, archive.url, plain.url)]);
    const config = JSON.parse(rendered.stdout) as { vmcp: { outgoing_auth?: object } };
    config.vmcp.outgoing_auth = {
      archive: { type: 'header_injection', header_name: 'X-Api-Key', header_value_file: keyFile },
    };
    const vmcp = await startGateway(scope, JSON.stringify(config));
    const call = async () => {
      const session = await openBearerSession(vmcp.url, 'ignored-because-anonymous');
      return whoamiOf(await session.call('archive_whoami'));
    };
    expect(await call()).toEqual({ key: 'key-one' });
    await writeFile(keyFile, 'key-two\n');
    await eventually('the new key is sent', async () => JSON.stringify(await call()).includes('key-two'), {
      timeoutMs: 5_000,
      intervalMs: 200,
    });
    expect(vmcp.output()).not.toContain('key-two');
  });

  /** Writes a folder with an anonymous gateway over two backends. */
  async function written(scope: Scope, ...urls: string[]): Promise<string> {
    const folder = await temporaryFolder(scope);
    const entries = ['archive', 'plain'].map((name, index) => entry(name, urls[index] ?? ''));
    await writeFiles(folder, { 'gateway.yaml': yaml(group(), virtualServer(), ...entries) });
    return folder;
  }
});

describe('the token of the client', () => {
  it('is not forwarded by an anonymous gateway', async () => {
    const scope = testScope();
    const news = await startCredentialBackend(scope, 'news');
    const vmcp = await startVmcp(scope, {
      files: { 'gateway.yaml': yaml(group(), virtualServer(), entry('news', news.url)) },
    });
    const answer = await raw(vmcp.url, {
      method: 'POST',
      headers: { ...MCP_HEADERS, ...bearer('token-of-the-client') },
      body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
    });
    expect([200, 400]).toContain(answer.status);
    const session = await openBearerSession(vmcp.url, 'token-of-the-client');
    expect(whoamiOf(await session.call('news_whoami'))).toEqual({});
    expect(JSON.stringify(news.seen)).not.toContain('token-of-the-client');
  });
});
