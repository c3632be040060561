import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { Value } from 'typebox/value';
import { expect, it } from 'vitest';
import { eventually } from '../../../e2e/harness/poll.ts';
import { OPERATIONS } from '../operations.ts';
import { startManagementServer, type ManagementServer } from '../testdata/management-server.ts';
import { ECHO, NOTES, upstreamDocument } from './document/testdata/records.ts';
import { protocolAnswers, startRegistry, type TestRegistry } from './testdata/registry-server.ts';

const BASE = '/api/v1beta/registry';
const DEFAULT = `${BASE}/default`;

const put = ({ send }: ManagementServer, body: unknown) => send('PUT', DEFAULT, body);
const fitsSchema = (id: string, body: unknown): boolean => {
  const schema = OPERATIONS.find((operation) => operation.id === id)?.success.body;
  return schema !== undefined && Value.Check(schema, body);
};
const WEEK_MS = 7 * 86_400_000;

/** Starts an API that reads a registry, so long after its settings that what they have read is no longer used. */
async function startLater(registry: TestRegistry): Promise<ManagementServer> {
  let now = Date.now();
  const server = await startManagementServer({ now: () => now });
  await put(server, documentAt(registry.url));
  now += WEEK_MS;
  return server;
}

/** Settings of a registry document of the test. */
const documentAt = (url: string) => ({ url: `${url}/registry.json`, allow_private_ip: true });

it('answers from the built-in registry before anything is set', async () => {
  const { send, stateDir } = await startManagementServer();
  const list = await send('GET', BASE);
  expect(list.json).toMatchObject({
    registries: [{ name: 'default', type: 'default', source: '', auth_status: 'none', auth_type: '' }],
  });
  const detail = await send('GET', DEFAULT);
  const servers = await send('GET', `${DEFAULT}/servers`);
  const one = await send('GET', `${DEFAULT}/servers/${encodeURIComponent('io.github.github/github-mcp-server')}`);
  expect(one.json).toMatchObject({ is_remote: false, server: { title: 'GitHub', tier: 'Official' } });
  expect((await send('GET', `${DEFAULT}/servers/mcp-grafana`)).json).toMatchObject({ server: { title: 'Grafana' } });
  expect([list, detail, servers, one].map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  expect(fitsSchema('listRegistries', list.json)).toBe(true);
  expect(fitsSchema('getRegistry', detail.json)).toBe(true);
  expect(fitsSchema('listRegistryServers', servers.json)).toBe(true);
  expect(fitsSchema('getRegistryServer', one.json)).toBe(true);
  expect(readdirSync(stateDir)).toEqual([]);
});

it('has a usable entry for every built-in server, with a description of at most 100 characters', async () => {
  const { send } = await startManagementServer();
  const { registry } = (await send('GET', DEFAULT)).json as { registry: Record<string, object> };
  const names = new Set(Object.keys({ ...registry['servers'], ...registry['remote_servers'] }));
  const page = await send('GET', '/registry/default/v0.1/servers?limit=100');
  const { servers } = page.json as { servers: { server: { name: string; description: string } }[] };
  expect(servers.length).toBeGreaterThanOrEqual(25);
  expect(servers.filter(({ server }) => !names.has(server.name))).toEqual([]);
  expect(servers.filter(({ server }) => server.description.length > 100)).toEqual([]);
});

it('reads a document behind a URL, asks again with its ETag, and keeps it on disk', async () => {
  const registry = await startRegistry({ headers: { etag: '"one"' }, body: upstreamDocument() });
  const server = await startManagementServer();
  expect((await put(server, documentAt(registry.url))).json).toEqual({ type: 'url' });
  const { send, stateDir } = server;
  expect((await send('GET', DEFAULT)).json).toMatchObject({
    ...{ type: 'url', version: '1.1.0', last_updated: '2026-05-06T07:08:09Z', server_count: 1 },
    registry: { servers: { [ECHO.name]: { image: ECHO.packages[0]!.identifier } } },
  });
  const before = registry.requests.length;
  await send('GET', `${DEFAULT}/servers`);
  expect(registry.requests.length).toBe(before);

  registry.answer((_path, _query, headers) => ({ status: headers['if-none-match'] === '"one"' ? 304 : 500 }));
  expect((await send('POST', `${DEFAULT}/refresh`)).json).toEqual({ status: 'refreshed' });
  expect(registry.requests.length).toBe(before + 1);

  const [kept = ''] = readdirSync(join(stateDir, 'cache'));
  expect(kept).toMatch(/^registry-[0-9a-f]{8}\.json$/u);
  expect(statSync(join(stateDir, 'cache', kept)).mode & 0o777).toBe(0o600);
  registry.answer(() => ({ status: 500 }));
  const restarted = await startManagementServer({ stateDir });
  expect((await restarted.send('GET', `${DEFAULT}/servers`)).json).toMatchObject({ servers: [{ name: ECHO.name }] });
});

it('keeps the document that the check of new settings has read', async () => {
  const registry = await startRegistry({ body: upstreamDocument() });
  const server = await startManagementServer();
  const { send, stateDir } = server;
  await put(server, documentAt(registry.url));
  expect((await send('GET', `${DEFAULT}/servers`)).json).toMatchObject({ servers: [{ name: ECHO.name }] });
  expect(registry.requests).toEqual(['/registry.json']);
  expect(readdirSync(join(stateDir, 'cache'))).toHaveLength(1);
  registry.answer(() => ({ body: upstreamDocument({ servers: [NOTES] }) }));
  await put(server, documentAt(registry.url));
  expect((await send('GET', DEFAULT)).json).toMatchObject({ registry: { remote_servers: { [NOTES.name]: {} } } });
  expect(registry.requests).toEqual(['/registry.json', '/registry.json']);
});

it('reads all pages of a server of the registry protocol', async () => {
  const registry = await startRegistry();
  registry.answer(protocolAnswers([[ECHO], [NOTES]]));
  const server = await startManagementServer();
  const answer = await put(server, { url: `${registry.url}/`, allow_private_ip: true });
  expect(answer.json).toEqual({ type: 'api' });
  expect(registry.requests).toEqual(['/v0.1/servers?limit=1&version=latest']);
  expect((await server.send('GET', `${DEFAULT}/servers`)).json).toMatchObject({
    ...{ servers: [{ name: ECHO.name }], remote_servers: [{ name: NOTES.name }] },
  });
  expect((await server.send('GET', BASE)).json).toMatchObject({
    registries: [{ version: '1.0.0', source: registry.url }],
  });
});

it('reads a file, and follows its changes', async () => {
  const server = await startManagementServer();
  const path = join(server.stateDir, 'own.json');
  writeFileSync(path, upstreamDocument());
  expect((await put(server, { local_path: path })).json).toEqual({ type: 'file' });
  expect((await put(server, { url: `file://${path}` })).json).toEqual({ type: 'file' });
  expect((await server.send('GET', BASE)).json).toMatchObject({ registries: [{ source: path, server_count: 1 }] });
  writeFileSync(path, upstreamDocument({ servers: [NOTES] }));
  expect((await server.send('GET', BASE)).json).toMatchObject({ registries: [{ server_count: 0 }] });
  expect((await put(server, {})).json).toEqual({ type: 'default' });
  expect((await server.send('GET', BASE)).json).toMatchObject({ registries: [{ type: 'default' }] });
});

it('serves the last content while the registry cannot be read, except when it requires a login', async () => {
  const registry = await startRegistry({ body: upstreamDocument() });
  let now = Date.now();
  const server = await startManagementServer({ now: () => now });
  await put(server, documentAt(registry.url));
  const servers = async () => (await server.send('GET', `${DEFAULT}/servers`)).status;
  expect(await servers()).toBe(200);
  registry.answer(() => ({ status: 500, body: 'broken' }));
  now += 2 * 3_600_000;
  expect(await servers()).toBe(200);
  const afterFailure = registry.requests.length;
  expect(await servers()).toBe(200);
  expect(registry.requests.length).toBe(afterFailure);
  expect(await server.send('POST', `${DEFAULT}/refresh`)).toMatchObject({ status: 503 });
  now += 60_000;
  registry.answer(() => ({ status: 401 }));
  expect(await servers()).toBe(503);
  registry.answer(() => ({ status: 500, body: 'broken' }));
  now += 8 * 86_400_000;
  expect(await servers()).toBe(503);
});

it('sends one request for many concurrent callers', async () => {
  const registry = await startRegistry({ body: upstreamDocument() });
  const server = await startLater(registry);
  const before = registry.requests.length;
  await Promise.all(Array.from({ length: 8 }, () => server.send('GET', `${DEFAULT}/servers`)));
  expect(registry.requests.length).toBe(before + 1);
});

it.each([
  ['requires a login', { status: 401 }, 503, 'registry_auth_required'],
  ['forbids the access', { status: 403 }, 503, 'registry_auth_required'],
  ['fails', { status: 500, body: '<html>' }, 503, 'registry_unavailable'],
  ['has the legacy layout', { body: { servers: {} } }, 502, 'registry_legacy_format'],
])('answers reading operations with an error when the registry %s', async (_name, reply, status, code) => {
  const registry = await startRegistry({ body: upstreamDocument() });
  const server = await startLater(registry);
  registry.answer(() => reply);
  for (const [method, path] of [
    ['GET', BASE],
    ['GET', DEFAULT],
    ['GET', `${DEFAULT}/servers`],
    ['GET', `${DEFAULT}/servers/echo`],
    ['POST', `${DEFAULT}/refresh`],
    ['GET', '/registry/default/v0.1/servers'],
    ['GET', '/registry/default/v0.1/x/dev.vmcp/skills'],
    ['GET', '/registry/default/v0.1/x/dev.vmcp/skills/com.example/summary'],
  ] as const) {
    const answer = await server.send(method, path);
    expect([path, answer.status, answer.json]).toEqual([path, status, { code, message: expect.any(String) }]);
  }
});

it.each([
  ['GET', '/other', undefined, 404],
  ['GET', '/other/servers', undefined, 404],
  ['GET', '/other/servers/echo', undefined, 404],
  ['GET', '/default/servers/absent', undefined, 404],
  ['GET', '/default/servers/%2e%2e%2f%2e%2e', undefined, 404],
  ['GET', '/default/servers/%ff', undefined, 400],
  ['POST', '/other/refresh', undefined, 404],
  ['PUT', '/other', { url: 'a', api_url: 'b' }, 404],
  ['DELETE', '/other', undefined, 404],
  ['DELETE', '/default', undefined, 400],
  ['POST', '', { name: 'mine' }, 501],
  ['PUT', '/default', '{', 400],
  ['PUT', '/default', [], 400],
  ['PUT', '/default', { url: 7 }, 400],
  ['PUT', '/default', { allow_private_ip: 'yes' }, 400],
  ['PUT', '/default', { url: 'https://a.example.com', local_path: '/a' }, 400],
  ['PUT', '/default', { url: 'ftp://a.example.com/registry.json' }, 400],
  ['PUT', '/default', { url: 'https://user:secret@a.example.com/registry.json' }, 400],
  ['PUT', '/default', { url: 'http://a.example.com/registry.json' }, 400],
  ['PUT', '/default', { url: 'registry.json' }, 400],
  ['PUT', '/default', { local_path: '/nowhere/registry.json' }, 400],
  ['PUT', '/default', { local_path: '/dev/zero' }, 400],
  ['PUT', '/default', { url: 'file://host/registry.json' }, 400],
  ['PUT', '/default', { auth: { issuer: 'https://a.example.com' } }, 400],
  ['PUT', '/default', { auth: { issuer: 'http://127.0.0.1:1', client_id: 'vmcp' } }, 400],
  ['PUT', '/default', { auth: { issuer: 'https://a.example.com', client_id: 'vmcp' } }, 400],
  ['PUT', '/default', { url: 'https://[', auth: { issuer: 'a', client_id: 'vmcp' } }, 400],
  ['PUT', '/default', { local_path: `/${'a'.repeat(4000)}` }, 400],
  ['PUT', '/default', { url: 'https://127.0.0.1/registry.json' }, 504],
  ['PUT', '/default', { url: 'https://10.0.0.1/' }, 504],
  ['PUT', '/default', { url: 'http://169.254.169.254/latest.json', allow_private_ip: true }, 504],
  ['POST', '/auth/login', undefined, 400],
  ['POST', '/auth/logout', undefined, 400],
])('answers %s %s with %j by %i, and keeps the settings', async (method, path, body, status) => {
  const { send, stateDir } = await startManagementServer();
  const answer = await send(method, `${BASE}${path}`, body);
  expect([answer.status, answer.text]).toEqual([status, expect.any(String)]);
  expect(answer.text).not.toContain('secret@');
  expect(readdirSync(stateDir)).toEqual([]);
});

it.each([
  ['a page of HTML', '<html></html>'],
  ['the legacy layout', '{"servers":{}}'],
  ['a document without entries', '{"data":{"servers":[]}}'],
  ['another object', '{}'],
])('rejects %s behind a URL and in a file with 502', async (_name, body) => {
  const registry = await startRegistry({ body });
  const server = await startManagementServer();
  const path = join(server.stateDir, 'own.json');
  writeFileSync(path, body);
  expect((await put(server, documentAt(registry.url))).status).toBe(502);
  expect((await put(server, { url: registry.url, allow_private_ip: true })).status).toBe(502);
  expect((await put(server, { local_path: path })).status).toBe(502);
  expect((await server.send('GET', BASE)).json).toMatchObject({ registries: [{ type: 'default' }] });
});

it('names the status of an answer that holds no registry', async () => {
  const registry = await startRegistry({ status: 500, body: 'Internal Server Error' });
  const answer = await put(await startManagementServer(), documentAt(registry.url));
  expect([answer.status, answer.text]).toEqual([502, `the answer of ${registry.url} (status 500) is not JSON\n`]);
});

it('answers 504 for a port that is closed', async () => {
  const closed = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => closed.once('listening', resolve));
  const { port } = closed.address() as { port: number };
  await new Promise((resolve) => closed.close(resolve));
  const server = await startManagementServer();
  for (const path of ['', '/registry.json']) {
    const url = `http://127.0.0.1:${String(port)}${path}`;
    expect((await put(server, { url, allow_private_ip: true })).status).toBe(504);
  }
});

it('answers 504 for a registry that does not answer within 5 s', async () => {
  const registry = await startRegistry({ hangs: true });
  const server = await startManagementServer();
  expect((await put(server, documentAt(registry.url))).status).toBe(504);
});

it('does not follow a redirect to another server', async () => {
  const target = await startRegistry({ body: upstreamDocument() });
  const registry = await startRegistry({ status: 302, headers: { location: `${target.url}/registry.json` } });
  const server = await startManagementServer();
  expect((await put(server, documentAt(registry.url))).status).toBe(400);
  expect(target.requests).toEqual([]);
});

it('changes nothing when the login is wrong although the source is right', async () => {
  const registry = await startRegistry({ body: upstreamDocument() });
  const server = await startManagementServer();
  const auth = { issuer: registry.url, client_id: 'vmcp' };
  const answer = await put(server, { ...documentAt(registry.url), auth });
  expect([answer.status, answer.text]).toEqual([400, expect.stringContaining('auth.issuer')]);
  expect(readdirSync(server.stateDir)).toEqual([]);
});

it('rejects changes with 403 when the registry is read-only, but a mistake in the body first', async () => {
  const server = await startManagementServer({ registry: { isReadOnly: true } });
  expect((await put(server, {})).status).toBe(403);
  expect((await put(server, { url: 'not-absolute' })).status).toBe(403);
  expect((await put(server, { url: 'a', api_url: 'b' })).status).toBe(400);
  expect((await server.send('DELETE', DEFAULT)).status).toBe(403);
  expect((await server.send('GET', BASE)).status).toBe(200);
});

it('stores the settings in a private file, and uses them after a restart', async () => {
  const registry = await startRegistry({ body: upstreamDocument() });
  const server = await startManagementServer();
  await put(server, documentAt(registry.url));
  const path = join(server.stateDir, 'registry.json');
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({
    type: 'url',
    location: `${registry.url}/registry.json`,
    allow_private_ip: true,
  });
  const restarted = await startManagementServer({ stateDir: server.stateDir });
  expect((await restarted.send('GET', BASE)).json).toMatchObject({ registries: [{ type: 'url' }] });
});

it('works without its disk cache', async () => {
  const registry = await startRegistry({ body: upstreamDocument() });
  const server = await startManagementServer();
  writeFileSync(join(server.stateDir, 'cache'), 'not a folder');
  await put(server, documentAt(registry.url));
  expect((await server.send('GET', `${DEFAULT}/servers`)).status).toBe(200);
});

it('ignores a damaged file of the disk cache', async () => {
  const registry = await startRegistry({ body: upstreamDocument() });
  const server = await startManagementServer();
  await put(server, documentAt(registry.url));
  await server.send('GET', `${DEFAULT}/servers`);
  const folder = join(server.stateDir, 'cache');
  for (const name of readdirSync(folder)) writeFileSync(join(folder, name), '{"catalog":');
  mkdirSync(join(folder, 'other'));
  const restarted = await startManagementServer({ stateDir: server.stateDir });
  expect((await restarted.send('GET', `${DEFAULT}/servers`)).json).toMatchObject({ servers: [{ name: ECHO.name }] });
});

it('stores new settings at once although the old registry hangs', async () => {
  const registry = await startRegistry({ body: upstreamDocument() });
  const server = await startLater(registry);
  registry.answer(() => ({ hangs: true }));
  const before = registry.requests.length;
  const reading = server.send('GET', `${DEFAULT}/servers`);
  await eventually('the reading runs', () => registry.requests.length > before);
  expect((await put(server, {})).json).toEqual({ type: 'default' });
  expect((await reading).status).toBe(503);
  expect((await server.send('GET', BASE)).json).toMatchObject({ registries: [{ type: 'default' }] });
});
