import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { decodeJwt } from 'jose';
import { describe, expect, it } from 'vitest';
import { MCP_HEADERS, raw, rpc, type RawResponse } from '../harness/clients/raw.ts';
import { startIdentityProvider } from '../harness/identity-provider.ts';
import { testScope, type Scope } from '../harness/scope.ts';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../harness/vmcp.ts';
import { startAws, startExample, startReceiver, startWhoami } from './run-example.ts';

interface Seen {
  readonly server: string;
  readonly headers: readonly string[];
  readonly token?: { readonly iss: string; readonly sub: string; readonly aud: string };
}

const textOf = (result: unknown): string => (result as { content: { text: string }[] }).content[0]?.text ?? '';

async function echo(client: Client): Promise<string> {
  return textOf(await client.callTool({ name: 'everything_echo', arguments: { message: 'hello' } }));
}

async function whoami(client: Client, server: string): Promise<Seen> {
  return JSON.parse(textOf(await client.callTool({ name: `${server}_whoami`, arguments: {} }))) as Seen;
}

/** Sends a request with this token, or without one. */
const ask = (url: string, token?: string): Promise<RawResponse> =>
  raw(url, {
    method: 'POST',
    headers: { ...MCP_HEADERS, ...(token !== undefined && { authorization: `Bearer ${token}` }) },
    body: rpc('tools/list'),
  });

/** Starts the three servers of the examples of outgoing credentials; maps the ports in the example to their real ports. */
async function threeServers(scope: Scope, issuer: string): Promise<Record<number, number>> {
  return {
    4410: await startWhoami(scope, 'archive'),
    4411: await startWhoami(scope, 'orders', ['--issuer', issuer, '--audience', 'orders']),
    4412: await startWhoami(scope, 'news'),
  };
}

describe.concurrent('examples of logins', () => {
  it('identity-provider: issues tokens to curl and logs its actions without tokens', async ({ expect }) => {
    const provider = await startIdentityProvider(testScope());
    const token = await provider.token('alice');
    expect(decodeJwt(token)).toMatchObject({
      iss: provider.issuer,
      sub: 'alice',
      aud: 'http://127.0.0.1:4483/mcp',
      scope: 'mcp:use',
    });
    await expect.poll(provider.lines).toContain('issued a token: sub alice, aud http://127.0.0.1:4483/mcp');
    expect(provider.lines().join('\n')).not.toContain(token);
  });

  it('incoming-oidc-inline: requires a token for this server', async () => {
    const provider = await startIdentityProvider(testScope());
    const example = await startExample(testScope(), 'incoming-oidc-inline', { ports: { 4400: provider.port } });
    const url = example.url('incoming-oidc-inline');
    const origin = new URL(url).origin;
    const refused = await ask(url);
    expect(refused.status).toBe(401);
    expect(refused.headers['www-authenticate']).toBe(
      `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp", scope="mcp:use"`,
    );
    expect((await ask(url, await provider.token('alice', 'http://127.0.0.1:1/mcp'))).status).toBe(401);
    expect(await echo(await example.client(undefined, await provider.token('alice', url)))).toBe('Echo: hello');
  });

  it('incoming-introspection: accepts opaque tokens by introspection, and answers 503 when it is down', async () => {
    const provider = await startIdentityProvider(testScope(), { opaque: true });
    const example = await startExample(testScope(), 'incoming-introspection', { ports: { 4400: provider.port } });
    const url = example.url('incoming-introspection');
    const token = await provider.token('alice', url);
    const unseen = await provider.token('bob', url);
    expect(token).not.toContain('.');
    expect(await echo(await example.client(undefined, token))).toBe('Echo: hello');
    expect((await ask(url, 'a-token-that-nobody-issued')).status).toBe(401);
    await provider.kill();
    const answer = await ask(url, unseen);
    expect({ status: answer.status, retryAfter: answer.headers['retry-after'] }).toEqual({
      status: 503,
      retryAfter: expect.stringMatching(/^\d+$/u) as unknown,
    });
  });

  it('incoming-kubernetes: accepts one service account of one namespace', async () => {
    const provider = await startIdentityProvider(testScope());
    const example = await startExample(testScope(), 'incoming-kubernetes', { ports: { 4400: provider.port } });
    const account = (name: string) => provider.token(`system:serviceaccount:${name}`, 'vmcp');
    const token = await account('agents:reporter');
    expect(await echo(await example.client(undefined, token))).toBe('Echo: hello');
    for (const other of ['agents:intruder', 'elsewhere:reporter']) {
      expect((await ask(example.url('incoming-kubernetes'), await account(other))).status).toBe(401);
    }
  });

  it('authorization: users see and call what the policies permit', async () => {
    const provider = await startIdentityProvider(testScope());
    const example = await startExample(testScope(), 'authorization', { ports: { 4400: provider.port } });
    const url = example.url('authorization');
    const alice = await example.client(undefined, await provider.token('alice', url));
    const bob = await example.client(undefined, await provider.token('bob', url));
    expect((await bob.listTools()).tools.map(({ name }) => name)).toEqual(['everything_echo']);
    const tools = (await alice.listTools()).tools.map(({ name }) => name);
    expect(tools).toContain('everything_get-sum');
    expect(tools).not.toContain('everything_get-env');
    const sum = (a: number) => alice.callTool({ name: 'everything_get-sum', arguments: { a, b: 1 } });
    expect(await sum(100)).toHaveProperty('content');
    await expect(sum(101)).rejects.toThrow('tool call denied by policy');
    await expect(bob.callTool({ name: 'everything_get-sum', arguments: { a: 1, b: 1 } })).rejects.toThrow('denied');
  });

  it('incoming-oidc-config-ref: two servers with one issuer have different audiences', async () => {
    const provider = await startIdentityProvider(testScope());
    const gateways = ['desk', 'field'];
    const ports = { 4400: provider.port };
    const example = await startExample(testScope(), 'incoming-oidc-config-ref', { gateways, ports });
    const [desk, field] = [example.url('desk'), example.url('field')];
    const token = await provider.token('alice', desk);
    expect(await echo(await example.client('desk', token))).toBe('Echo: hello');
    expect((await ask(field, token)).status).toBe(401);
    expect(await echo(await example.client('field', await provider.token('alice', field)))).toBe('Echo: hello');
  });
});

describe.concurrent('examples of credentials for servers', () => {
  it('backends: whoami returns headers and claims, never a token, and checks tokens with --issuer and --audience', async () => {
    const provider = await startIdentityProvider(testScope());
    const flags = ['--issuer', provider.issuer, '--audience', 'orders'];
    const url = `http://127.0.0.1:${String(await startWhoami(testScope(), 'orders', flags))}/mcp`;
    const token = await provider.token('alice', 'orders');
    const call = { ...MCP_HEADERS, authorization: `Bearer ${token}` };
    const answer = await raw(url, { method: 'POST', headers: call, body: rpc('tools/call', { name: 'whoami' }) });
    expect(answer.body).toContain('\\"sub\\":\\"alice\\"');
    expect(answer.body).not.toContain(token);
    expect((await ask(url)).status).toBe(401);
    expect((await ask(url, await provider.token('alice', 'invoices'))).status).toBe(401);
  });

  it('outgoing-header-injection: the server gets the API key', async () => {
    const ports = { 4410: await startWhoami(testScope(), 'archive') };
    const client = await (await startExample(testScope(), 'outgoing-header-injection', { ports })).client();
    const { headers } = await whoami(client, 'archive');
    expect(headers).toContain('x-api-key');
    expect(headers).not.toContain('authorization');
  });

  it('outgoing-token-exchange: exchanges one token for each user', async ({ expect }) => {
    const provider = await startIdentityProvider(testScope());
    const ports = { 4400: provider.port, ...(await threeServers(testScope(), provider.issuer)) };
    const example = await startExample(testScope(), 'outgoing-token-exchange', { ports });
    for (const user of ['alice', 'bob']) {
      const token = await provider.token(user, example.url('outgoing-token-exchange'));
      const client = await example.client(undefined, token);
      for (let call = 0; call < 3; call += 1) {
        expect((await whoami(client, 'orders')).token).toEqual({ iss: provider.issuer, sub: user, aud: 'orders' });
      }
      const exchanged = `exchanged a token: sub ${user}, aud orders, for vmcp`;
      await expect.poll(() => provider.lines().filter((line) => line === exchanged)).toHaveLength(1);
    }
  });

  it('outgoing-cloud-sts: signs requests with the role of each user, and sends none without a role', async () => {
    const provider = await startIdentityProvider(testScope());
    const ports = { 4400: provider.port, 4413: await startAws(testScope(), ['--issuer', provider.issuer]) };
    const example = await startExample(testScope(), 'outgoing-cloud-sts', { ports });
    const front = example.url('outgoing-cloud-sts');
    for (const [user, role] of [
      ['alice', 'admin'],
      ['bob', 'reader'],
    ] as const) {
      const client = await example.client(undefined, await provider.token(user, front));
      const seen: unknown = JSON.parse(textOf(await client.callTool({ name: 'aws_whoami', arguments: {} })));
      expect(seen).toMatchObject({ role: `arn:aws:iam::123456789012:role/${role}`, session: user });
    }
    const eve = await example.client(undefined, await provider.token('eve', front));
    expect((await eve.listTools()).tools).toEqual([]);
  });

  it('outgoing-discovered: each server gets the credential that it refers to', async () => {
    const provider = await startIdentityProvider(testScope());
    const ports = { 4400: provider.port, ...(await threeServers(testScope(), provider.issuer)) };
    const example = await startExample(testScope(), 'outgoing-discovered', { ports });
    const token = await provider.token('alice', example.url('outgoing-discovered'));
    const client = await example.client(undefined, token);
    expect((await whoami(client, 'orders')).token).toMatchObject({ sub: 'alice', aud: 'orders' });
    expect((await whoami(client, 'archive')).headers).toContain('x-api-key');
    const news = await whoami(client, 'news');
    for (const name of ['authorization', 'x-api-key']) expect(news.headers).not.toContain(name);
  });

  it('outgoing-inline-source: an unlisted server gets no credential', async () => {
    const provider = await startIdentityProvider(testScope());
    const ports = { 4400: provider.port, ...(await threeServers(testScope(), provider.issuer)) };
    const example = await startExample(testScope(), 'outgoing-inline-source', { ports });
    const token = await provider.token('alice', example.url('outgoing-inline-source'));
    const client = await example.client(undefined, token);
    expect((await whoami(client, 'orders')).token).toMatchObject({ sub: 'alice', aud: 'orders' });
    expect((await whoami(client, 'archive')).headers).toContain('x-api-key');
    const news = await whoami(client, 'news');
    for (const name of ['authorization', 'x-api-key']) expect(news.headers).not.toContain(name);
  });
});

describe.concurrent('examples of decisions on calls', () => {
  const KEY = 'the-key-of-the-example-is-no-secret';
  const call = (client: Client, message: string) =>
    client.callTool({ name: 'everything_echo', arguments: { message } });

  it('webhooks: a receiver verifies the signature, changes arguments and denies calls', async () => {
    const example = await startExample(testScope(), 'webhooks', {
      ports: { 4420: await startReceiver(testScope(), KEY) },
    });
    const client = await example.client();
    expect(textOf(await call(client, 'hello'))).toBe('Echo: hello (reviewed)');
    await expect(call(client, 'my secret')).rejects.toMatchObject({
      message: expect.stringContaining('of the gateway denied the call: no secrets') as string,
      data: { reason: 'webhook_denied' },
    });
  });

  it('webhooks: a receiver with another key rejects the signature, and the call is not sent', async () => {
    const ports = { 4420: await startReceiver(testScope(), `${KEY}!`) };
    const client = await (await startExample(testScope(), 'webhooks', { ports })).client();
    await expect(call(client, 'hello')).rejects.toMatchObject({
      message: expect.stringContaining('of the gateway gave no usable answer') as string,
      data: { reason: 'webhook_failed' },
    });
  });

  it('webhooks: the documentation shows the receiver that is tested', () => {
    const receiver = readFileSync(join(root, 'examples', 'webhooks', 'receiver.mjs'), 'utf8');
    expect(readFileSync(join(root, 'docs', 'policies', 'webhooks.md'), 'utf8')).toContain(receiver);
  });
});
