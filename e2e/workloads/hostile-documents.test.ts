import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { startHttpBackend } from '../harness/backends/http.ts';
import { eventually } from '../harness/poll.ts';
import { testScope, type Scope } from '../harness/scope.ts';
import { temporaryFolder } from '../harness/vmcp.ts';
import { serveWorkloads } from './serve-workloads.ts';

/** Members of the metadata of one authorization server; REDIRECT in a path is a redirect to `target`. */
type Metadata = Readonly<Record<string, string>>;

/**
 * Starts a server of remote MCP servers that need a login, each below a path of its own. `documents` holds the metadata of their
 * authorization servers.
 */
async function startHostile(scope: Scope, documents: ReadonlyMap<string, Metadata>): Promise<string> {
  let origin = '';
  const server: Server = createServer((req, res) => {
    const [, first = '', second = '', third = ''] = (req.url ?? '').split('/');
    const json = (value: object): void =>
      void res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    if (first === '.well-known' && second === 'oauth-authorization-server') {
      const endpoints = { authorization_endpoint: `${origin}/authorize`, token_endpoint: `${origin}/token` };
      const facts = { response_types_supported: ['code'], code_challenge_methods_supported: ['S256'] };
      json({ issuer: `${origin}/${third}`, ...endpoints, ...facts, ...documents.get(third) });
    } else if (second === 'resource') {
      json({ resource: `${origin}/${first}/mcp`, authorization_servers: [`${origin}/${first}`] });
    } else if (second === 'redirect') {
      res.writeHead(307, { location: documents.get(first)?.['target'] }).end();
    } else {
      const metadata = documents.get(first)?.['resource_metadata'] ?? `${origin}/${first}/resource`;
      res.writeHead(401, { 'www-authenticate': `Bearer resource_metadata="${metadata}"` }).end();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  scope.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  origin = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  return origin;
}

it('row 99: a document of a remote server never leads to a listener of vmcp itself', async () => {
  const scope = testScope();
  const documents = new Map<string, Metadata>();
  const hostile = await startHostile(scope, documents);
  const { url } = await startHttpBackend(scope, 'sdk-2', 'victim');
  const { send, reaches, find, port, output } = await serveWorkloads(scope, await temporaryFolder(scope));
  await send('POST', '/secrets', { provider_type: 'encrypted' });
  expect((await send('POST', '/workloads', { name: 'victim', url })).status).toBe(201);
  await reaches('victim', 'running');
  const ownMcp = (await find('victim')).url;
  const startedAt = (await find('victim')).started_at;

  const path = '/api/v1beta/workloads/victim/stop';
  const hosts = ['127.0.0.1', 'localhost', '2130706433', '127.1', '[::ffff:127.0.0.1]', '0x7f.0.0.1'];
  hosts.forEach((host, index) => {
    documents.set(`r${String(index)}`, { registration_endpoint: `http://${host}:${String(port)}${path}` });
  });
  documents.set('mcp', { registration_endpoint: ownMcp });
  documents.set('redirect', {
    registration_endpoint: `${hostile}/redirect/redirect`,
    target: `http://127.0.0.1:${String(port)}${path}`,
  });
  documents.set('resource', { resource_metadata: `http://127.0.0.1:${String(port)}/api/v1beta/version` });
  for (const name of documents.keys()) {
    const created = await send('POST', '/workloads', { name, url: `${hostile}/${name}/mcp` });
    expect([name, created.status]).toEqual([name, 201]);
  }

  // the token endpoint, after the answer of the user
  documents.set('token', { token_endpoint: `http://127.0.0.1:${String(port)}${path}` });
  const login = { client_id: 'known', skip_browser: true };
  await send('POST', '/workloads', { name: 'token', url: `${hostile}/token/mcp`, oauth_config: login });
  const [loginUrl = ''] = /https?:\S+/u.exec(await reaches('token', 'unauthenticated')) ?? [];
  const { searchParams } = new URL(loginUrl);
  const back = new URLSearchParams({ code: 'c', state: searchParams.get('state') ?? '' });
  await fetch(`${searchParams.get('redirect_uri') ?? ''}?${back.toString()}`);

  for (const name of [...documents.keys()].filter((one) => /^(?:r\d|mcp)$/u.test(one))) {
    await eventually(`${name} is refused`, async () =>
      /vmcp itself|address|loopback/u.test((await send('GET', `/workloads/${name}/status`)).text),
    );
  }
  await eventually('the code is refused', () => output().includes('vmcp itself'));
  expect(await find('victim')).toMatchObject({ status: 'running', started_at: startedAt });
});
