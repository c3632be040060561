import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { startCredentialBackend } from '../scenarios/credential-backend.ts';
import { connectV1 } from '../harness/clients/sdk-v1.ts';
import { startHttpBackend } from '../harness/backends/http.ts';
import { startIssuer } from '../harness/issuer.ts';
import { openBearerSession } from '../scenarios/bearer-session.ts';
import { freePort } from '../harness/free-port.ts';
import { eventually } from '../harness/poll.ts';
import { testScope, type Scope } from '../harness/scope.ts';
import { startServe } from '../harness/serve.ts';
import { temporaryFolder } from '../harness/vmcp.ts';

type Serve = Awaited<ReturnType<typeof startServe>>;

const EVERYTHING = 'npx://@modelcontextprotocol/server-everything';

const env = { VMCP_SECRETS_PASSWORD: 'of-the-test' };

const start = async (scope: Scope, state?: string): Promise<Serve> =>
  startServe(scope, state ?? (await temporaryFolder(scope)), [], { env });

interface Status {
  readonly status: string;
  readonly status_context?: string;
}

const statusOf = async ({ send }: Serve, name: string): Promise<Status> =>
  (await send('GET', `/workloads/${name}/status`)).json as Status;

const reaches = (serve: Serve, name: string, status: string) =>
  eventually(`${name} is ${status}`, async () => (await statusOf(serve, name)).status === status, {
    timeoutMs: 40_000,
  });

async function urlOf({ send }: Serve, name: string): Promise<string> {
  const { workloads } = (await send('GET', '/workloads?all=true')).json as {
    workloads: { name: string; url: string }[];
  };
  return workloads.find((workload) => workload.name === name)?.url ?? '';
}

async function toolsAt(url: string): Promise<string[]> {
  const client = await connectV1({ transport: url.includes('/sse') ? 'sse' : 'streamable-http', url });
  const { tools } = await client.client.listTools();
  await client.close();
  return tools.map(({ name }) => name);
}

it('runs an npm server over stdio: create, edit, restart, stop, start, delete', async () => {
  const scope = testScope();
  const serve = await start(scope);
  const { send } = serve;
  expect(await send('POST', '/workloads', { name: 'every', image: EVERYTHING })).toMatchObject({
    status: 201,
    json: { name: 'every' },
  });
  await reaches(serve, 'every', 'running');
  const url = await urlOf(serve, 'every');
  const client = await connectV1({ transport: 'streamable-http', url });
  expect(await client.client.callTool({ name: 'echo', arguments: { message: 'one' } })).toMatchObject({
    content: [{ text: 'Echo: one' }],
  });

  const edit = { tools: ['say', 'get-sum'], tools_override: { echo: { name: 'say', description: 'Repeats.' } } };
  expect((await send('POST', '/workloads/every/edit', edit)).status).toBe(200);
  await eventually('the edit is applied', async () => (await toolsAt(url)).includes('say'), { timeoutMs: 20_000 });
  expect(await toolsAt(url)).toEqual(expect.arrayContaining(['say', 'get-sum']));
  expect(await toolsAt(url)).toHaveLength(2);
  // the client's session has survived the edit
  expect(await client.client.callTool({ name: 'say', arguments: { message: 'two' } })).toMatchObject({
    content: [{ text: 'Echo: two' }],
  });
  await client.close();

  const startedAt = async () =>
    ((await send('GET', '/workloads')).json as { workloads: { started_at: string }[] }).workloads[0]?.started_at;
  const before = await startedAt();
  expect((await send('POST', '/workloads/every/restart')).status).toBe(202);
  await eventually(
    'it has restarted',
    async () => (await startedAt()) !== before && (await statusOf(serve, 'every')).status === 'running',
    { timeoutMs: 20_000 },
  );
  expect(await toolsAt(url)).toHaveLength(2);

  expect((await send('POST', '/workloads/every/stop')).status).toBe(202);
  await reaches(serve, 'every', 'stopped');
  await expect(fetch(url)).rejects.toThrow();
  expect((await send('POST', '/workloads/every/start')).status).toBe(202);
  await reaches(serve, 'every', 'running');
  expect((await send('POST', '/workloads/delete', { names: ['every', 'unknown'] })).status).toBe(202);
  await eventually('it is gone', async () => (await send('GET', '/workloads/every')).status === 404);
  await eventually('its processes are gone', async () => (await serve.descendants()).length <= 1);
});

it('undoes an edit whose server does not start, while clients keep the old one', async () => {
  const scope = testScope();
  const serve = await start(scope);
  const { send } = serve;
  const http = { name: 'http', image: EVERYTHING, transport: 'streamable-http', cmd_arguments: ['streamableHttp'] };
  expect((await send('POST', '/workloads', http)).status).toBe(201);
  await reaches(serve, 'http', 'running');
  const before = (await send('GET', '/workloads/http/export')).json;
  const client = await connectV1({ transport: 'streamable-http', url: await urlOf(serve, 'http') });
  expect(
    (await send('POST', '/workloads/http/edit', { cmd_arguments: ['nonsense'], env_vars: { A: 'b' } })).status,
  ).toBe(200);
  await eventually('the edit is undone', async () =>
    /undone/u.test((await statusOf(serve, 'http')).status_context ?? ''),
  );
  expect(await client.client.listTools()).toMatchObject({ tools: expect.any(Array) as unknown[] });
  await client.close();
  expect((await statusOf(serve, 'http')).status).toBe('running');
  expect((await send('GET', '/workloads/http/export')).json).toEqual(before);
  const logs = await send('GET', '/workloads/http/logs');
  expect(logs.text).toContain('Unknown transport: nonsense');
});

it('undoes an edit to a server that does not answer, and frees the name of a removed workload', async () => {
  const scope = testScope();
  const serve = await start(scope);
  const { send } = serve;
  const remote = await startHttpBackend(scope, 'sdk-1-stateful', 'alpha');
  expect((await send('POST', '/workloads', { name: 'remote', url: remote.url })).status).toBe(201);
  await reaches(serve, 'remote', 'running');
  const nothing = `http://127.0.0.1:${String(await freePort())}/mcp`;
  expect((await send('POST', '/workloads/remote/edit', { url: nothing })).status).toBe(200);
  const undone = async () => /undone/u.test((await statusOf(serve, 'remote')).status_context ?? '');
  await eventually('the edit is undone', undone, { timeoutMs: 40_000 });
  await reaches(serve, 'remote', 'running');
  expect((await send('GET', '/workloads/remote/export')).json).toMatchObject({ remote_url: remote.url });
  expect((await send('DELETE', '/workloads/remote')).status).toBe(202);
  expect((await send('POST', '/workloads', { name: 'remote', url: remote.url })).status).toBe(201);
});

it('gives the values of secrets to servers and to nobody else', async () => {
  const scope = testScope();
  const state = await temporaryFolder(scope);
  const serve = await start(scope, state);
  const { send } = serve;
  await send('POST', '/secrets', { provider_type: 'encrypted' });
  await send('POST', '/secrets/default/keys', { key: 'the-key', value: 'val-4711' });
  const request = { name: 'secret', image: EVERYTHING, secrets: [{ name: 'the-key', target: 'API_KEY' }] };
  expect(await send('POST', '/workloads', { ...request, secrets: [{ name: 'absent', target: 'X' }] })).toMatchObject({
    status: 400,
    text: expect.stringContaining('there is no secret "absent"') as string,
  });
  expect((await send('POST', '/workloads', request)).status).toBe(201);
  await reaches(serve, 'secret', 'running');
  const client = await connectV1({ transport: 'streamable-http', url: await urlOf(serve, 'secret') });
  const result = await client.client.callTool({ name: 'get-env', arguments: {} });
  expect(JSON.stringify(result)).toContain('val-4711');
  await client.close();
  const answers = await Promise.all(
    ['', '/export', '/logs', '/proxy-logs'].map(
      async (suffix) => (await send('GET', `/workloads/secret${suffix}`)).text,
    ),
  );
  expect([...answers, serve.output()].join('\n')).not.toContain('val-4711');
  expect(spawnSync('grep', ['-r', 'val-4711', state]).status).toBe(1);
});

it('serves a remote server, and over HTTP+SSE below a prefix', async () => {
  const scope = testScope();
  const serve = await start(scope);
  const { send } = serve;
  const remote = await startHttpBackend(scope, 'sdk-1-stateful', 'alpha');
  const settings = { name: 'remote', url: remote.url, header_forward: { add_plaintext_headers: { 'X-Team': 'blue' } } };
  expect((await send('POST', '/workloads', settings)).status).toBe(201);
  await reaches(serve, 'remote', 'running');
  expect(await toolsAt(await urlOf(serve, 'remote'))).toContain('echo');
  expect((await send('GET', '/workloads')).json).toMatchObject({
    workloads: [{ name: 'remote', package: 'remote', remote: true, started_at: '0001-01-01T00:00:00Z' }],
  });
  const exported = (await send('GET', '/workloads/remote/export')).json as Record<string, unknown>;
  const { port: _port, ...others } = exported;
  const imported = {
    ...others,
    name: 'prefixed',
    base_name: 'prefixed',
    endpoint_prefix: '/servers/a',
    stateless: true,
  };
  expect((await send('POST', '/workloads/import', imported)).status).toBe(201);
  await reaches(serve, 'prefixed', 'running');
  const origin = new URL(await urlOf(serve, 'prefixed')).origin;
  const stream = await fetch(`${origin}/sse`, { headers: { accept: 'text/event-stream' } });
  const chunk = await stream.body?.getReader().read();
  expect(new TextDecoder().decode(chunk?.value as Uint8Array)).toMatch(/data: \/servers\/a\/messages\?sessionId=/u);
  const get = await fetch(`${origin}/mcp`, { headers: { accept: 'text/event-stream' } });
  expect(get.status).toBe(405);
});

it('checks tokens of clients, and exchanges them for the server', async () => {
  const scope = testScope();
  const serve = await start(scope);
  const { send } = serve;
  const issuer = await startIssuer(scope);
  const orders = await startCredentialBackend(scope, 'orders');
  orders.refuses = ({ authorization }) => authorization === undefined;
  await send('POST', '/secrets', { provider_type: 'encrypted' });
  await send('POST', '/secrets/default/keys', { key: 'exchange', value: issuer.clientSecret });
  const config = {
    ...{ schema_version: 'v0.1.0', name: 'orders', remote_url: orders.url, transport: 'streamable-http' },
    oidc_config: { issuer: issuer.url, jwksurl: issuer.jwksUrl, audience: 'vmcp', allowPrivateIP: true },
    token_exchange_config: {
      ...{ token_url: issuer.tokenUrl, client_id: issuer.clientId, audience: 'orders' },
      client_secret: 'exchange,target=client_secret',
    },
  };
  expect(await send('POST', '/workloads/import', config)).toMatchObject({ status: 201 });
  await eventually('it answers', async () => /running|unauthenticated/u.test((await statusOf(serve, 'orders')).status));
  const url = await urlOf(serve, 'orders');
  expect((await fetch(url, { method: 'POST' })).status).toBe(401);
  const session = await openBearerSession(url, issuer.token({ sub: 'ann', aud: 'vmcp' }));
  const answer = await session.call('whoami');
  const { result } = JSON.parse(answer.body) as { result: { content: { text: string }[] } };
  expect(JSON.parse(result.content[0]?.text ?? '')).toEqual({ sub: 'ann', aud: 'orders' });
  expect((await send('GET', '/workloads/orders/export')).text).not.toContain(issuer.clientSecret);
});
