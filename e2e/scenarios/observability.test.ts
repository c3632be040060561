import { beforeAll, describe, expect, it } from 'vitest';
import { startHttpBackend } from '../harness/backends/http.ts';
import type { HttpBackend } from '../harness/backends/host.ts';
import { openSession, raw, textOf, type RawSession } from '../harness/clients/raw.ts';
import { entry, group, secret, server, virtualServer, yaml } from '../harness/manifests.ts';
import { npmRegistry, npx } from '../harness/packages.ts';
import { eventually } from '../harness/poll.ts';
import { blockScope } from '../harness/scope.ts';
import { startVmcp, type Vmcp } from '../harness/vmcp.ts';

/** Secret values that only their backend may receive. */
const CANARY = {
  host: 'canary-of-the-host',
  env: 'canary-of-the-server',
  header: 'canary-of-the-header',
  client: 'canary-of-the-client',
};

const scope = blockScope();
let vmcp: Vmcp;
let backend: HttpBackend;
let session: RawSession;

beforeAll(async () => {
  backend = await startHttpBackend(scope, 'sdk-1-stateful', 'remote');
  const files = {
    'all.yaml': yaml(
      group(),
      virtualServer({
        operational: { logLevel: 'debug', failureHandling: { healthCheckInterval: '1s', unhealthyThreshold: 1 } },
      }),
      entry('remote', backend.url, 'streamable-http', {
        headerForward: {
          addHeadersFromSecret: [{ headerName: 'X-Api-Key', valueSecretRef: { name: 'keys', key: 'header' } }],
        },
      }),
      entry('gone', 'http://127.0.0.1:9/mcp'),
      server('local', npx('vmcp-fixture'), {
        args: ['local'],
        env: [{ name: 'PLAIN', value: 'visible' }],
        secrets: [{ name: 'keys', key: 'token', targetEnvName: 'API_TOKEN' }],
      }),
      secret('keys', { token: CANARY.env, header: CANARY.header }),
    ),
  };
  vmcp = await startVmcp(scope, { files, env: { ...(await npmRegistry(scope)), VMCP_TEST_SECRET: CANARY.host } });
  session = await openSession(vmcp.url);
  await eventually(
    'both servers answer',
    async () => {
      const tools = await session.tools();
      return tools.includes('local_echo') && tools.includes('remote_echo');
    },
    { timeoutMs: 60_000 },
  );
  const headers = { authorization: `Bearer ${CANARY.client}`, cookie: `session=${CANARY.client}` };
  await session.call('remote_echo', { text: 'hi', password: CANARY.client }, { headers });
  await session.call('remote_nothing', {}, { headers });
  await session.post('{"jsonrpc": broken', { headers });
});

const json = async (url: string) => {
  const { status, headers, body } = await raw(url);
  return { status, headers, body: JSON.parse(body) as Record<string, unknown> };
};

describe('the endpoints of operators', () => {
  it('/health and /readyz answer on the public listener', async () => {
    for (const path of ['/health', '/ping']) {
      expect(await json(vmcp.origin + path)).toMatchObject({ status: 200, body: { status: 'ok' } });
    }
    expect(await json(`${vmcp.origin}/readyz`)).toMatchObject({
      status: 200,
      body: { status: 'ready', mode: 'static' },
    });
  });

  it('/status lists the backends without a URL or an error', async () => {
    const backends = async () => (await json(`${vmcp.management}/status`)).body['backends'];
    await expect
      .poll(backends)
      .toEqual([
        expect.objectContaining({ name: 'gone', health: 'unhealthy', transport: 'streamable-http' }),
        expect.objectContaining({ name: 'local', health: 'healthy', transport: 'stdio' }),
        expect.objectContaining({ name: 'remote', health: 'healthy', transport: 'streamable-http' }),
      ]);
    const { status, headers, body } = await json(`${vmcp.management}/status`);
    expect(status).toBe(200);
    expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' });
    expect(body).toMatchObject({
      healthy: true,
      version: expect.any(String) as unknown,
      group_ref: expect.stringContaining('fixtures') as unknown,
    });
    expect(JSON.stringify(body)).not.toMatch(/https?:|127\.0\.0\.1|ECONN/);
  });

  it('/status counts the tools that clients see of each backend', async () => {
    const names = await session.tools();
    const ofLocal = names.filter((name) => name.startsWith('local_')).length;
    expect(ofLocal).toBeGreaterThan(1);
    const { backends } = (await json(`${vmcp.management}/status`)).body as { backends: Record<string, unknown>[] };
    expect(backends.map(({ name, tools }) => [name, tools])).toEqual([
      ['gone', undefined],
      ['local', ofLocal],
      ['remote', names.length - ofLocal],
    ]);
  });

  it('/status accepts GET and HEAD only', async () => {
    expect((await raw(`${vmcp.management}/status`, { method: 'HEAD' })).status).toBe(200);
    const refused = await raw(`${vmcp.management}/status`, { method: 'POST' });
    expect(refused.status).toBe(405);
    expect(refused.headers.allow).toMatch(/GET/);
  });

  it('/api/backends/health returns a summary and the state of each backend', async () => {
    const health = async () => (await json(`${vmcp.management}/api/backends/health`)).body;
    await expect.poll(health).toMatchObject({
      monitoring_enabled: true,
      summary: { total: 3, healthy: 2, degraded: 0, unhealthy: 1, unknown: 0, unauthenticated: 0 },
      backends: {
        gone: {
          status: 'unhealthy',
          consecutive_failures: expect.any(Number) as unknown,
          last_check_time: expect.stringMatching(/^\d{4}-\d\d-\d\dT/) as unknown,
          last_error_category: expect.stringMatching(/^(connection_failed|backend_unavailable)$/) as unknown,
          circuit_state: 'closed',
        },
        remote: { status: 'healthy', consecutive_failures: 0 },
      },
    });
  });

  it('/metrics returns the metrics of vmcp as Prometheus text', async () => {
    const { status, headers, body } = await raw(`${vmcp.management}/metrics`);
    expect(status).toBe(200);
    expect(headers['content-type']).toMatch(/^text\/plain/);
    expect(body).toMatch(/^# TYPE vmcp_\w+ (counter|gauge|histogram)$/m);
    expect(body).toMatch(/^vmcp_\w+\{[^}]*backend="remote"[^}]*\} [1-9]/m);
  });

  it('an unknown path gets 404 with JSON, and a foreign Host 403', async () => {
    expect((await json(`${vmcp.management}/nothing`)).status).toBe(404);
    const foreign = await raw(`${vmcp.management}/api/v1beta/workloads`, { headers: { host: 'evil.example' } });
    expect([403, 404]).toContain(foreign.status);
  });
});

describe('secrets', () => {
  it('reach the server that declares them, without the environment of vmcp', async () => {
    const environment = JSON.parse(textOf(await session.call('local_environment'))) as Record<string, string>;
    expect(environment).toMatchObject({ API_TOKEN: CANARY.env, PLAIN: 'visible' });
    expect(JSON.stringify(environment)).not.toContain(CANARY.host);
    const allowed = /^(PATH|HOME|LANG|TMPDIR|PWD|SHLVL|_|PLAIN|API_TOKEN|MCP_TRANSPORT|.*_proxy)$/i;
    expect(Object.keys(environment).filter((name) => !allowed.test(name))).toEqual([]);
  });

  it('in a forwarded header reach only their backend', () => {
    const { headers } = backend.seen.findLast(({ method }) => method === 'tools/call')!;
    expect(headers['x-api-key']).toBe(CANARY.header);
    expect(JSON.stringify(headers)).not.toContain(CANARY.client);
  });

  it('appear in no log line, table, status or metric', async () => {
    const paths = [
      `${vmcp.management}/status`,
      `${vmcp.management}/metrics`,
      `${vmcp.management}/api/backends/health`,
      `${vmcp.origin}/health`,
    ];
    const pages = await Promise.all(paths.map(async (url) => (await raw(url)).body));
    const everything = [vmcp.output(), ...pages].join('\n');
    for (const canary of Object.values(CANARY)) expect(everything).not.toContain(canary);
  });
});

describe('the log', () => {
  it('has one JSON object per line with level, message and time, beside problems of the files', () => {
    const lines = vmcp
      .stderr()
      .split('\n')
      .slice(0, -1) // empty, or an incomplete line
      .filter((line) => line !== '' && !/^\/.+\.yaml:\d+: /.test(line));
    expect(lines.length).toBeGreaterThan(0);
    for (const line of lines) {
      expect(JSON.parse(line)).toMatchObject({
        level: expect.any(String) as unknown,
        message: expect.any(String) as unknown,
        timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT/) as unknown,
      });
    }
  });

  it('names the workload for each line of its stderr', async () => {
    await session.call('local_crash');
    await eventually('the stderr of the server is logged', () =>
      vmcp
        .stderr()
        .split('\n')
        .some((line) => line.includes('crashing as asked') && line.includes('"local"')),
    );
  });
});
