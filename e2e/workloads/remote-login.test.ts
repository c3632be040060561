import { spawnSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { startAuthorizationServer } from '../../gateway/workloads/remote-login/testdata/authorization-server.ts';
import { answer, startRemote } from '../../gateway/workloads/remote-login/testdata/remote.ts';
import { startCredentialBackend } from '../scenarios/credential-backend.ts';
import { freePort } from '../harness/free-port.ts';
import { connectV1 } from '../harness/clients/sdk-v1.ts';
import { eventually } from '../harness/poll.ts';
import { testScope, type Scope } from '../harness/scope.ts';
import { temporaryFolder } from '../harness/vmcp.ts';
import { callTool, serveWorkloads } from './serve-workloads.ts';

const loginUrlIn = (context: string): string => /https?:\S+/u.exec(context)?.[0] ?? '';

async function toolsAt(url: string): Promise<string[]> {
  const { client, close } = await connectV1({ transport: 'streamable-http', url });
  const { tools } = await client.listTools();
  await close();
  return tools.map(({ name }) => name);
}

/** Starts an authorization server and an MCP server that requires its tokens. `secrets` lists what they have issued. */
async function startGuarded() {
  const server = await startAuthorizationServer(testScope());
  const remote = await startRemote(server);
  const secrets: string[] = [];
  const collect = ({ body }: { body?: unknown }): void => {
    const { access_token, refresh_token, id_token, registration_access_token } = body as Record<string, string>;
    const issued = [access_token, refresh_token, id_token, registration_access_token];
    secrets.push(...issued.filter((value) => value !== undefined));
  };
  server.provider.on('grant.success', collect);
  server.provider.on('registration_create.success', collect);
  const logins = (): number => server.seen.filter((line) => line === 'grant authorization_code').length;
  return { server, remote, secrets, logins };
}

it('logs in at a remote server once, and keeps the login through edit, restart and kill -9', async () => {
  const scope = testScope();
  const state = await temporaryFolder(scope);
  const { server, remote, secrets, logins } = await startGuarded();
  const first = await serveWorkloads(scope, state);
  await first.send('POST', '/secrets', { provider_type: 'encrypted' });
  expect((await first.send('POST', '/workloads', { name: 'docs', url: remote.url })).status).toBe(201);
  const loginUrl = loginUrlIn(await first.reaches('docs', 'unauthenticated'));
  expect(new URL(loginUrl).origin).toBe(server.issuer);
  expect(await answer(loginUrl)).toBe(200);
  await first.reaches('docs', 'running');
  const { url } = await first.find('docs');
  expect(await callTool(url, 'echo', { text: 'one' })).toBe('one');
  expect(first.output()).not.toContain('has not started');

  expect((await first.send('POST', '/workloads/docs/edit', { tools: ['echo'] })).status).toBe(200);
  expect((await first.send('POST', '/workloads/docs/restart')).status).toBe(202);
  await first.reaches('docs', 'running');
  await eventually(
    'a client reaches the tool after the restart',
    async () => (await callTool(url, 'echo', { text: 'two' })) === 'two',
  );
  first.signal('SIGKILL');
  await first.exited;

  const second = await serveWorkloads(scope, state);
  await second.reaches('docs', 'running');
  expect(await callTool(url, 'echo', { text: 'three' })).toBe('three');
  expect(logins()).toBe(1);
  const used = remote.tokens.at(-1);
  remote.rejects = (token) => `Bearer ${token}` === used;
  expect(await callTool(url, 'echo', { text: 'four' })).toBe('four');
  expect(server.seen).toContain('grant refresh_token');

  const paths = ['', '/docs', '/docs/status', '/docs/export', '/docs/logs', '/docs/proxy-logs'];
  const answers = await Promise.all(paths.map(async (path) => (await second.send('GET', `/workloads${path}`)).text));
  const shown = [...answers, (await second.send('GET', '/secrets/default/keys')).text, first.output(), second.output()];
  expect(secrets.length).toBeGreaterThanOrEqual(5);
  // row 76
  for (const secret of secrets) {
    expect(shown.filter((text) => text.includes(secret))).toEqual([]);
    expect(spawnSync('grep', ['-rF', '--', secret, state]).status).toBe(1);
  }

  expect((await second.send('DELETE', '/workloads/docs')).status).toBe(202);
  await eventually('it is deleted', async () => (await second.list()).length === 0);
  expect((await second.send('POST', '/workloads', { name: 'docs', url: remote.url })).status).toBe(201);
  expect(loginUrlIn(await second.reaches('docs', 'unauthenticated'))).not.toBe('');
});

/** Installs a program in the place of the browser, and returns the PATH with it and a function that lists what it opened. */
async function fakeBrowser(scope: Scope) {
  const folder = await temporaryFolder(scope);
  const opened = join(folder, 'opened');
  await writeFile(join(folder, 'xdg-open'), `#!/bin/sh\necho "$1" >> '${opened}'\n`, { mode: 0o755 });
  await writeFile(opened, '');
  const path = [folder, dirname(process.execPath), process.env['PATH']].join(':');
  const urls = async (): Promise<string[]> => (await readFile(opened, 'utf8')).split('\n').slice(0, -1);
  return { env: { PATH: path }, urls };
}

it('opens the browser once per login attempt on a terminal', async () => {
  const scope = testScope();
  const { remote } = await startGuarded();
  const { env, urls } = await fakeBrowser(scope);
  const serve = await serveWorkloads(scope, await temporaryFolder(scope), env, { terminal: true });
  const { send, reaches } = serve;
  await send('POST', '/workloads', { name: 'quiet', url: remote.url, oauth_config: { skip_browser: true } });
  await reaches('quiet', 'unauthenticated');
  await send('POST', '/workloads', { name: 'docs', url: remote.url });
  const first = loginUrlIn(await reaches('docs', 'unauthenticated'));
  await eventually('the browser has opened the URL', async () => (await urls()).length > 0);
  expect((await send('POST', '/workloads/docs/edit', { tools: ['echo'] })).status).toBe(200);
  await eventually('the edit is applied', async () => /tools/u.test((await send('GET', '/workloads/docs')).text));
  expect((await send('POST', '/workloads/docs/restart')).status).toBe(202);
  await eventually('the browser has opened another URL', async () => (await urls()).length > 1);
  const second = loginUrlIn(await reaches('docs', 'unauthenticated'));
  expect(await urls()).toEqual([first, second]);
});

it.each<[string, Readonly<Record<string, string>>, boolean]>([
  ['without a terminal', {}, false],
  ['under CI', { CI: 'true' }, true],
])('opens no browser %s', { timeout: 60_000 }, async (_where, given, terminal) => {
  const scope = testScope();
  const { remote } = await startGuarded();
  const { env, urls } = await fakeBrowser(scope);
  const serve = await serveWorkloads(scope, await temporaryFolder(scope), { ...env, ...given }, { terminal });
  await serve.send('POST', '/workloads', { name: 'docs', url: remote.url });
  expect(await answer(loginUrlIn(await serve.reaches('docs', 'unauthenticated')))).toBe(200);
  await serve.reaches('docs', 'running');
  expect(await urls()).toEqual([]);
});

it('follows the edit of a remote URL to a server with a slow login of a slow user', async () => {
  const scope = testScope();
  const { remote, server } = await startGuarded();
  // longer than the failed probes that end an edit
  server.intercept = ({ method, url }, res) => {
    if (method !== 'POST' || url !== '/reg') return false;
    res.req.pause();
    setTimeout(() => void server.provider.callback()(res.req, res), 3_000);
    return true;
  };
  const open = await startCredentialBackend(scope, 'open');
  const serve = await serveWorkloads(scope, await temporaryFolder(scope));
  await serve.send('POST', '/workloads', { name: 'docs', url: open.url });
  await serve.reaches('docs', 'running');
  expect((await serve.send('POST', '/workloads/docs/edit', { url: remote.url })).status).toBe(200);
  const loginUrl = loginUrlIn(await serve.reaches('docs', 'unauthenticated'));
  await new Promise((resolve) => setTimeout(resolve, 2_000)); // longer than the failed probes that end an edit
  expect(loginUrlIn(await serve.reaches('docs', 'unauthenticated'))).toBe(loginUrl);
  remote.delayMs = 500; // tools are listed some time after the login
  expect(await answer(loginUrl)).toBe(200);
  await serve.reaches('docs', 'running');
  const { url } = await serve.find('docs');
  await eventually('the tools are listed', async () => (await toolsAt(url)).includes('echo'));
  expect(await callTool(url, 'echo', { text: 'one' })).toBe('one');
});

it('runs after a login only once its tools are listed', async () => {
  const { remote } = await startGuarded();
  const serve = await serveWorkloads(testScope(), await temporaryFolder(testScope()));
  await serve.send('POST', '/workloads', { name: 'docs', url: remote.url });
  const loginUrl = loginUrlIn(await serve.reaches('docs', 'unauthenticated'));
  remote.delayMs = 500;
  expect(await answer(loginUrl)).toBe(200);
  await serve.reaches('docs', 'running');
  expect(await toolsAt((await serve.find('docs')).url)).toContain('echo');
});

it('sends a bearer token from a secret, and shows it nowhere', async () => {
  const scope = testScope();
  const state = await temporaryFolder(scope);
  const orders = await startCredentialBackend(scope, 'orders');
  orders.refuses = ({ authorization }) => authorization !== 'Bearer val-4711';
  const serve = await serveWorkloads(scope, state);
  const { send } = serve;
  await send('POST', '/secrets', { provider_type: 'encrypted' });
  const settings = {
    name: 'orders',
    url: orders.url,
    oauth_config: { bearer_token: { name: 'orders-token', target: 'bearer_token' } },
  };
  expect(await send('POST', '/workloads', settings)).toMatchObject({
    status: 400,
    text: expect.stringContaining('there is no secret "orders-token"') as string,
  });
  await send('POST', '/secrets/default/keys', { key: 'orders-token', value: 'val-4711' });
  expect((await send('POST', '/workloads', settings)).status).toBe(201);
  await serve.reaches('orders', 'running');
  expect(await callTool((await serve.find('orders')).url, 'whoami', {})).toBeTypeOf('string');
  const paths = ['', '/orders', '/orders/export', '/orders/proxy-logs'];
  const answers = await Promise.all(paths.map(async (path) => (await send('GET', `/workloads${path}`)).text));
  expect([...answers, serve.output()].join('\n')).not.toContain('val-4711');
  expect(spawnSync('grep', ['-r', 'val-4711', state]).status).toBe(1);
});

it('requires a login again after a restart when no secrets provider stores it', async () => {
  const scope = testScope();
  const { remote } = await startGuarded();
  const state = await temporaryFolder(scope);
  const first = await serveWorkloads(scope, state);
  const config = { schema_version: 'v0.1.0', name: 'docs', remote_url: remote.url, transport: 'streamable-http' };
  const imported = { ...config, remote_auth_config: { timeout: '3s' } };
  expect((await first.send('POST', '/workloads/import', imported)).status).toBe(201);
  const contextOf = async ({ send }: Pick<typeof first, 'send'>): Promise<string> =>
    (await send('GET', '/workloads/docs/status')).text;
  const loginUrl = (serve: Pick<typeof first, 'send'>): Promise<string> =>
    eventually('there is a login URL', async () => loginUrlIn(await contextOf(serve)).replace(/".*/u, '') || undefined);
  const abandoned = await loginUrl(first);
  await eventually('the attempt ends', async () => (await contextOf(first)).includes('nobody logged in within 3s'));
  expect((await first.send('POST', '/workloads/docs/restart')).status).toBe(202);
  const second = await loginUrl(first);
  expect(second).not.toBe(abandoned);
  expect(await answer(second)).toBe(200);
  await first.reaches('docs', 'running');
  first.signal('SIGKILL');
  await first.exited;

  const later = await serveWorkloads(scope, state);
  expect(await answer(await loginUrl(later))).toBe(200);
  await later.reaches('docs', 'running');
  expect(await callTool((await later.find('docs')).url, 'echo', { text: 'one' })).toBe('one');
});

it('names the workload whose remote server is down, and how to get a secrets provider', async () => {
  const scope = testScope();
  const serve = await serveWorkloads(scope, await temporaryFolder(scope));
  const url = `http://127.0.0.1:${String(await freePort())}/mcp`;
  expect((await serve.send('POST', '/workloads', { name: 'down', url })).status).toBe(201);
  await serve.reaches('down', 'unhealthy');
  const lineIn = (output: string) =>
    output.split('\n').find((text) => text.includes('login at remote server not started'));
  const line = await eventually('the line is logged', () => lineIn(serve.output()));
  expect(JSON.parse(line)).toMatchObject({ workload: 'down' });
  const secrets = [{ name: 'token', target: 'TOKEN' }];
  expect(await serve.send('POST', '/workloads', { name: 'other', image: 'npx://other', secrets })).toMatchObject({
    status: 400,
    text: expect.stringContaining('set one up first with POST /api/v1beta/secrets') as unknown,
  });
});
