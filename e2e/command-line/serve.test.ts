import { request } from 'node:http';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startHttpBackend } from '../harness/backends/http.ts';
import { startIssuer } from '../harness/issuer.ts';
import { entry, gatewayOver } from '../harness/manifests.ts';
import { eventsOfFile } from '../scenarios/audit/lines.ts';
import { eventually } from '../harness/poll.ts';
import { testScope } from '../harness/scope.ts';
import { startServe } from '../harness/serve.ts';
import { startVmcp, temporaryFolder, vmcpResult, writeFiles } from '../harness/vmcp.ts';

/** Returns the status of a GET with these headers, which `fetch` would not send. */
const statusWith = (port: number, headers: Record<string, string>): Promise<number> =>
  new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, path: '/api/v1beta/groups', headers }, (reply) => {
      reply.resume();
      resolve(reply.statusCode ?? 0);
    });
    sent.once('error', reject).end();
  });

it('row 96: names its URL, and refuses other pages and host names', async () => {
  const scope = testScope();
  const { url, port, stdout } = await startServe(scope, await temporaryFolder(scope));
  expect(stdout()).toContain(`${url}/api/v1beta\n`);
  expect(await statusWith(port, {})).toBe(200);
  expect(await statusWith(port, { host: 'rebound.example' })).toBe(403);
  expect(await statusWith(port, { origin: 'https://evil.example' })).toBe(403);
  expect(await statusWith(port, { origin: 'null' })).toBe(403);
  expect(await statusWith(port, { origin: 'http://localhost:3000' })).toBe(403);
  expect(await statusWith(port, { origin: `http://localhost:${String(port)}` })).toBe(200);
  expect(await statusWith(port, { 'sec-fetch-site': 'same-site' })).toBe(403);
  for (const init of [{ headers: { origin: 'https://evil.example' } }, {}]) {
    const refused = await fetch(`${url}/api/nothing`, init);
    expect([refused.status, refused.headers.get('x-content-type-options')]).toEqual([
      'headers' in init ? 403 : 404,
      'nosniff',
    ]);
  }
  const listed = await fetch(`${url}/api/openapi.json`);
  expect([listed.status, listed.headers.get('content-type')]).toEqual([200, 'application/json']);
});

it('answers an expected failure with its reason, a declared status and code, and no stack in the log', async () => {
  const scope = testScope();
  const state = await temporaryFolder(scope);
  await writeFiles(state, { 'groups.json': '{"groups": [' });
  const { url, api, output } = await startServe(scope, state);
  const problem = async (method: string, path: string, body?: object) => {
    const headers = { accept: 'application/problem+json' };
    const reply = await fetch(`${api}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    return (await reply.json()) as Record<string, unknown>;
  };
  const { paths } = (await (await fetch(`${url}/api/openapi.json`)).json()) as {
    paths: Record<string, Record<string, { responses: Record<string, { description: string }> }>>;
  };
  const described = (method: string, path: string, status: number) =>
    paths[`/api/v1beta${path}`]?.[method]?.responses[String(status)]?.description;

  const detail = 'OP_SERVICE_ACCOUNT_TOKEN is not set: set it and start vmcp again';
  expect(await problem('POST', '/secrets', { provider_type: '1password' })).toMatchObject({ status: 400, detail });
  expect(described('post', '/secrets', 400)).toContain('`provider_not_ready`');
  expect(await problem('GET', '/groups')).toMatchObject({
    status: 500,
    code: 'state_unusable',
    detail: expect.stringContaining(`${join(state, 'groups.json')} is damaged`) as string,
  });
  expect(described('get', '/groups', 500)).toContain('`state_unusable`');
  expect(output()).not.toMatch(/\n\s+at |unexpectedly/u);
});

it('asks every request for a token of the configured issuer', async () => {
  const scope = testScope();
  const issuer = await startIssuer(scope);
  const folder = await temporaryFolder(scope);
  await writeFiles(folder, {
    'serve.json': JSON.stringify({ auth: { issuer: issuer.url, audience: 'vmcp', allowPrivateIP: true } }),
  });
  const { url, api } = await startServe(scope, join(folder, 'state'), ['--config', join(folder, 'serve.json')]);
  for (const path of ['/health', '/api/v1beta/groups', '/status', '/api/openapi.json']) {
    const refused = await fetch(`${url}${path}`);
    expect([path, refused.status]).toEqual([path, 401]);
    expect(refused.headers.get('www-authenticate')).toMatch(/^Bearer/u);
  }
  const withToken = (token: string) => fetch(`${api}/groups`, { headers: { authorization: `Bearer ${token}` } });
  expect((await withToken(issuer.token({ sub: 'ann', aud: 'vmcp' }))).status).toBe(200);
  expect((await withToken(issuer.token({ sub: 'ann', aud: 'other' }))).status).toBe(401);
});

it('records each change and each rejection in the audit log of its configuration', async () => {
  const scope = testScope();
  const issuer = await startIssuer(scope);
  const folder = await temporaryFolder(scope);
  const [config, logFile] = [join(folder, 'serve.json'), join(folder, 'audit.log')];
  const auth = { issuer: issuer.url, audience: 'vmcp', allowPrivateIP: true };
  await writeFiles(folder, { 'serve.json': JSON.stringify({ auth, audit: { logFile } }) });
  const { api, stop } = await startServe(scope, join(folder, 'state'), ['--config', config]);
  const headers = { authorization: `Bearer ${issuer.token({ sub: 'ann', name: 'Ann', aud: 'vmcp' })}` };
  const body = '{"name": "desks"}';
  expect((await fetch(`${api}/groups`, { method: 'POST', headers, body })).status).toBe(201);
  expect((await fetch(`${api}/groups`, { headers })).status).toBe(200);
  expect((await fetch(`${api}/groups`)).status).toBe(401);
  await stop();
  const ofApi = { type: 'vmcp_management_request', component: 'management' };
  expect(eventsOfFile(logFile)).toMatchObject([
    { ...ofApi, outcome: 'success', subjects: { user: 'Ann', user_id: 'ann' }, target: { name: 'createGroup' } },
    { ...ofApi, outcome: 'denied', subjects: { user: 'anonymous' }, metadata: { extra: { status: 401 } } },
  ]);
  await writeFiles(folder, { 'serve.json': JSON.stringify({ audit: { logFile: folder } }) });
  const unusable = await vmcpResult(scope, [
    'serve',
    '--port',
    '0',
    '--state',
    join(folder, 'state'),
    '--config',
    config,
  ]);
  expect([unusable.code, unusable.stderr]).toEqual([2, expect.stringContaining(folder)]);
});

it('does not listen on other addresses without a login, and names each problem of its configuration', async () => {
  const scope = testScope();
  const state = await temporaryFolder(scope);
  await writeFiles(state, { 'serve.json': '{"oauth": {}}' });
  const serve = ['serve', '--port', '0', '--state', state];
  const open = await vmcpResult(scope, [...serve, '--host', '0.0.0.0']);
  expect([open.code, open.stderr]).toEqual([2, expect.stringMatching(/^without a login .* loopback address: .*\n$/u)]);
  const unknown = await vmcpResult(scope, [...serve, '--config', join(state, 'serve.json')]);
  expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringMatching(/serve\.json: oauth: unknown .*\n$/u)]);
});

it('keeps every acknowledged change through kill -9 during 200 concurrent changes', async () => {
  const scope = testScope();
  const state = await temporaryFolder(scope);
  const first = await startServe(scope, state);
  const acknowledged: string[] = [];
  const changes = Array.from({ length: 200 }, async (_, index) => {
    const name = `group-${String(index)}`;
    const reply = await fetch(`${first.api}/groups`, { method: 'POST', body: JSON.stringify({ name }) });
    if (reply.status === 201) acknowledged.push(name);
  });
  await eventually('some changes are acknowledged', () => acknowledged.length > 20);
  first.signal('SIGKILL');
  await Promise.allSettled(changes);
  await first.exited;
  const second = await startServe(scope, state);
  const { groups } = (await (await fetch(`${second.api}/groups`)).json()) as { groups: { name: string }[] };
  expect(groups.map(({ name }) => name)).toEqual(expect.arrayContaining(acknowledged));
  expect((await fetch(`${second.api}/groups`, { method: 'POST', body: '{"name": "later"}' })).status).toBe(201);
  expect(await readdir(state)).not.toContain('groups.json.draft');
});

it('registers a client with the endpoint of a running gateway', async () => {
  const scope = testScope();
  const { url } = await startHttpBackend(scope, 'sdk-1-stateful', 'alpha');
  const home = await temporaryFolder(scope);
  const vmcp = await startVmcp(scope, { files: gatewayOver([entry('alpha', url)]), env: { HOME: home } });
  const reply = await fetch(`${vmcp.management}/api/v1beta/clients`, { method: 'POST', body: '{"name": "cursor"}' });
  expect([reply.status, await reply.json()]).toEqual([200, { name: 'cursor', groups: ['default'] }]);
  const { stdout } = await vmcpResult(scope, ['connect', '-o', 'json', '--state', vmcp.state], { env: { HOME: home } });
  const clients = JSON.parse(stdout) as { client: string; connected: string[] }[];
  expect(clients.find(({ client }) => client === 'cursor')?.connected).toEqual(['gateway']);
});
