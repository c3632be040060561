import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { decodeJwt } from 'jose';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { MCP_HEADERS, raw, rpc } from '../harness/clients/raw.ts';
import { startIdentityProvider } from '../harness/identity-provider.ts';
import { testScope } from '../harness/scope.ts';
import { root, vmcpResult } from '../harness/vmcp.ts';
import { logIn } from './browser-login.ts';
import { startChatProvider, startExample, startWhoami } from './run-example.ts';

interface AuthServer {
  readonly upstreamProviders: readonly { readonly name: string }[];
  readonly storage: object;
}

interface Seen {
  readonly headers: readonly string[];
  readonly token?: 'opaque' | { readonly iss: string; readonly sub: string; readonly aud: string };
}

const textOf = (result: unknown): string => (result as { content: { text: string }[] }).content[0]?.text ?? '';

async function whoami(client: Client, server: string): Promise<Seen> {
  return JSON.parse(textOf(await client.callTool({ name: `${server}_whoami`, arguments: {} }))) as Seen;
}

describe('examples of the authorization server', () => {
  it('auth-server-one-provider: a client finds it and logs in with a browser, and the server gets the token of the provider', async () => {
    const provider = await startIdentityProvider(testScope());
    const files = await startWhoami(testScope(), 'files');
    const ports = { 4400: provider.port, 4410: files };
    const example = await startExample(testScope(), 'auth-server-one-provider', { ports });
    const url = example.url('auth-server-one-provider');
    const { origin } = new URL(url);
    const refused = await raw(url, { method: 'POST', headers: MCP_HEADERS, body: rpc('tools/list') });
    expect(refused.headers['www-authenticate']).toBe(
      `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`,
    );
    const document = (await (await fetch(`${origin}/.well-known/oauth-protected-resource/mcp`)).json()) as object;
    expect(document).toMatchObject({ resource: url, authorization_servers: [origin] });
    const metadata = (await (await fetch(`${origin}/.well-known/oauth-authorization-server`)).json()) as object;
    expect(metadata).toMatchObject({ issuer: origin, token_endpoint: `${origin}/oauth/token` });
    const { accessToken, browser } = await logIn(url, 'alice');
    expect(browser.pages[0]?.body).toContain('Allow “<bdi>examples</bdi>” to act for you?');
    expect(decodeJwt(accessToken)).toMatchObject({ iss: origin, aud: url });
    const seen = await whoami(await example.client(undefined, accessToken), 'files');
    const audience = `http://127.0.0.1:${String(files)}/mcp`;
    expect(seen.token).toEqual({ iss: provider.issuer, sub: 'alice', aud: audience });
  });

  it('auth-server-two-providers: staff log in at both providers, guests only at the first', async () => {
    const provider = await startIdentityProvider(testScope());
    const chat = await startChatProvider(testScope());
    const ports = {
      4400: provider.port,
      4401: chat,
      4410: await startWhoami(testScope(), 'files'),
      4411: await startWhoami(testScope(), 'chat'),
    };
    const example = await startExample(testScope(), 'auth-server-two-providers', { ports });
    const url = example.url('auth-server-two-providers');

    const alice = await logIn(url, 'alice');
    const consent = alice.browser.pages[0]?.body ?? '';
    for (const name of ['corp', 'chat']) expect(consent).toContain(`<bdi>${name}</bdi>`);
    const client = await example.client(undefined, alice.accessToken);
    expect((await whoami(client, 'files')).token).toMatchObject({ iss: provider.issuer, sub: 'alice' });
    expect((await whoami(client, 'chat')).token).toBe('opaque');

    const guest = await logIn(url, 'guest-1');
    expect(guest.browser.visited.map(({ port }) => port)).not.toContain(String(chat));
    const guestClient = await example.client(undefined, guest.accessToken);
    expect((await whoami(guestClient, 'files')).token).toMatchObject({ sub: 'guest-1' });
    const denied = await guestClient.callTool({ name: 'chat_whoami', arguments: {} });
    expect(denied.isError).toBe(true);
    expect(textOf(denied)).toContain('chat');
  });

  it('outgoing-upstream-inject: servers get the upstream token, an exchanged token, or no token', async () => {
    const provider = await startIdentityProvider(testScope());
    const archive = await startWhoami(testScope(), 'archive');
    const ports = {
      4400: provider.port,
      4410: archive,
      4411: await startWhoami(testScope(), 'orders', ['--issuer', provider.issuer, '--audience', 'orders']),
      4412: await startWhoami(testScope(), 'news'),
    };
    const example = await startExample(testScope(), 'outgoing-upstream-inject', { ports });
    const { accessToken } = await logIn(example.url('outgoing-upstream-inject'), 'alice');
    const client = await example.client(undefined, accessToken);
    const aud = `http://127.0.0.1:${String(archive)}/mcp`;
    expect((await whoami(client, 'archive')).token).toEqual({ iss: provider.issuer, sub: 'alice', aud });
    expect((await whoami(client, 'orders')).token).toEqual({ iss: provider.issuer, sub: 'alice', aud: 'orders' });
    expect((await whoami(client, 'news')).headers).not.toContain('authorization');
  });

  it('auth-server-production: renders six providers, sentinels and rotating keys, without a secret', async () => {
    const folder = join(root, 'examples', 'auth-server-production');
    const { code, stdout, stderr } = await vmcpResult(testScope(), ['render', folder]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const { embedded_auth_server_config: server, vmcp } = JSON.parse(stdout) as {
      embedded_auth_server_config: Record<string, unknown>;
      vmcp: object;
    };
    expect(server).toMatchObject({
      issuer: 'https://tools.example.com',
      signing_key_config: { fallback_key_files: [expect.stringContaining('signing-1.pem')] },
      upstreams: ['entra', 'okta', 'auth0', 'google', 'github', 'slack'].map((name) => ({ name })),
      storage: { type: 'kvstore', kvstore_config: { sentinel_config: { master_name: 'sessions' } } },
    });
    expect(vmcp).toMatchObject({ incoming: { trusted_proxies: ['10.0.0.0/8'] } });
    for (const secret of ['placeholder', 'PRIVATE KEY', 'CERTIFICATE']) expect(stdout).not.toContain(secret);
  });

  it('auth-server-production: contains every recipe and the storage of the guide unchanged', () => {
    const file = join(root, 'examples/auth-server-production/auth-server-production.yaml');
    const { authServerConfig } = (parse(readFileSync(file, 'utf8')) as { spec: { authServerConfig: AuthServer } }).spec;
    const guide = readFileSync(join(root, 'docs/authorization-server.md'), 'utf8');
    const texts = [...guide.matchAll(/^```yaml\n(.*?)^```/gmsu)].map(([, text = '']) => text);
    const blocks = texts.flatMap((text) => parseAllDocuments(text).map((each) => each.toJS() as unknown));
    const recipes = blocks.find((block) => Array.isArray(block)) as AuthServer['upstreamProviders'];
    expect(recipes.map(({ name }) => name)).toEqual(['google', 'github', 'slack']);
    for (const recipe of recipes) expect(authServerConfig.upstreamProviders).toContainEqual(recipe);
    expect(blocks).toContainEqual({ storage: authServerConfig.storage });
  });
});
