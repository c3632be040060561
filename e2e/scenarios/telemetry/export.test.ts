import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { VMCP } from '../../../gateway/contract/testdata/vmcp-config.ts';
import { SCHEMA_VERSION } from '../../../gateway/contract/run-config/run-config.ts';
import type { HttpBackend } from '../../harness/backends/host.ts';
import { startHttpBackend } from '../../harness/backends/http.ts';
import { openSession, raw, type RawSession } from '../../harness/clients/raw.ts';
import { sdkV1 } from '../../harness/clients/sdk-v1.ts';
import { startCollector, type Collector, type ReceivedSpan } from '../../harness/collector/collector.ts';
import { eventually } from '../../harness/poll.ts';
import { hasPython } from '../../harness/python.ts';
import { beside, blockScope, testScope, type Scope } from '../../harness/scope.ts';
import { startGateway, temporaryFolder, type Vmcp } from '../../harness/vmcp.ts';

const CANARY = 'canary-of-the-collector';
const TRACE_A = '4bf92f3577b34da6a3ce929d0e0e4736';
const TRACE_B = 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa';
const SPAN_A = '00f067aa0ba902b7';
const SPAN_B = 'bbbbbbbbbbbbbbbb';
const A = `00-${TRACE_A}-${SPAN_A}-01`;
const B = `00-${TRACE_B}-${SPAN_B}-01`;
const ROOT = { traceId: expect.stringMatching(/^[0-9a-f]{32}$/u) as unknown, parentSpanId: '' };
const MCP_BOUNDS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];

interface Setup {
  readonly backend: HttpBackend;
  readonly gateway: Vmcp;
}

/** Starts a gateway over one backend, renamed by the prefix of its tools. */
async function start(scope: Scope, telemetry: object): Promise<Setup> {
  const backend = await startHttpBackend(scope, 'sdk-1-stateful', 'files');
  const config = {
    schema_version: SCHEMA_VERSION,
    name: 'front',
    telemetry_config: telemetry,
    vmcp: {
      ...VMCP,
      namespace: 'team',
      incoming: { type: 'anonymous' },
      aggregation: { ...VMCP.aggregation, conflict_resolution: 'prefix', prefix_format: '{workload}_' },
      backends: [
        {
          name: 'files',
          url: backend.url,
          transport: 'streamable-http',
          allow_private_ips: true,
          insecure_allow_http: true,
        },
      ],
    },
  };
  const gateway = await startGateway(scope, JSON.stringify(config), { env: { REGION: 'north' } });
  return { backend, gateway };
}

/** Calls a tool with the request itself, so that `_meta` and headers are free. */
const call = (session: RawSession, name: string, meta?: object, headers?: Readonly<Record<string, string>>) =>
  session.request(
    'tools/call',
    { name, arguments: { text: 'hi' }, ...(meta && { _meta: meta }) },
    headers && { headers },
  );

const CALLS = 200;

const survivesCollectors = beside(async (scope) => {
  const losses = async (mode: string): Promise<void> => {
    const collector = await startCollector(scope);
    await collector.behave(mode);
    const { gateway } = await start(scope, { endpoint: collector.endpoint, samplingRate: '1' });
    const session = await openSession(gateway.url);
    await eventually('the tools are there', async () => (await session.tools()).includes('files_echo'));
    const started = performance.now();
    for (let n = 0; n < CALLS; n += 1) expect((await call(session, 'files_echo')).error).toBeUndefined();
    expect((performance.now() - started) / CALLS).toBeLessThan(200); // an export that hangs takes seconds
    const dropped = async () => {
      const { body } = await raw(`${gateway.management}/metrics`);
      const found = /^vmcp_telemetry_dropped_total\{server="team\/front",signal="traces"\} (\d+)$/mu.exec(body);
      return Number(found?.[1] ?? 0);
    };
    await eventually('losses are counted', async () => (await dropped()) > 0, { timeoutMs: 30_000 });
    const stopped = performance.now();
    await gateway.stop();
    expect(performance.now() - stopped).toBeLessThan(35_000);
    const lines = gateway
      .output()
      .split('\n')
      .filter((line) => line.includes('telemetry was not exported'));
    expect(lines).toHaveLength(1);
  };
  await Promise.all(['hang', '503', '400'].map(losses));
});

describe.skipIf(!hasPython)('telemetry', () => {
  const scope = blockScope();
  let collector: Collector;
  let setup: Setup;
  let session: RawSession;

  beforeAll(async () => {
    collector = await startCollector(scope);
    const file = join(await temporaryFolder(scope), 'token');
    await writeFile(file, `Bearer ${CANARY}\n`);
    setup = await start(scope, {
      endpoint: collector.endpoint,
      samplingRate: '1',
      headers: { 'X-Tenant': 'team' },
      headerFiles: { authorization: file },
      customAttributes: { 'deployment.environment.name': 'test' },
      environmentVariables: ['REGION'],
      useLegacyAttributes: true,
    });
    session = await openSession(setup.gateway.url);
    await eventually('the tools are there', async () => (await session.tools()).includes('files_echo'));
  });

  /** Returns the newest spans of the server and of the client after `act`. */
  async function spansOf(act: () => Promise<unknown>, isWanted: (span: ReceivedSpan) => boolean) {
    const before = (await collector.spans()).length;
    await act();
    return eventually('the spans arrive', async () => {
      const fresh = (await collector.spans()).slice(before).filter(isWanted);
      const [server, client] = ['SPAN_KIND_SERVER', 'SPAN_KIND_CLIENT'].map((kind) =>
        fresh.findLast((span) => span.kind === kind),
      );
      return server && { server, client };
    });
  }

  const ofTool = (span: ReceivedSpan): boolean => span.name.startsWith('tools/call');

  it.each([
    ['_meta alone', { traceparent: A }, undefined, { traceId: TRACE_A, parentSpanId: SPAN_A, links: [] }],
    ['a header alone', undefined, { traceparent: B }, { traceId: TRACE_B, parentSpanId: SPAN_B, links: [] }],
    [
      '_meta and another context in the header',
      { traceparent: A },
      { traceparent: B },
      { traceId: TRACE_A, parentSpanId: SPAN_A, links: [{ traceId: TRACE_B, spanId: SPAN_B }] },
    ],
    ['the same in both', { traceparent: A }, { traceparent: A }, { traceId: TRACE_A, parentSpanId: SPAN_A, links: [] }],
    ['neither', undefined, undefined, { ...ROOT, links: [] }],
    ['an invalid context', { traceparent: `00-${'0'.repeat(32)}-${SPAN_A}-01` }, undefined, { ...ROOT, links: [] }],
    ['an invalid context in _meta', { traceparent: 7 }, { traceparent: B }, { traceId: TRACE_B, parentSpanId: SPAN_B }],
  ])('has the parent of %s', async (_, meta, headers, expected) => {
    const { server, client } = await spansOf(() => call(session, 'files_echo', meta, headers), ofTool);
    expect(server).toMatchObject(expected);
    expect(client).toMatchObject({ traceId: server.traceId, parentSpanId: server.spanId });
  });

  it('sends the context of the call in _meta and in the headers, and everything else unchanged', async () => {
    const meta = { traceparent: A, tracestate: 'rojo=1,congo=2', baggage: 'user=alice', 'team.dev/own': { a: [1.5] } };
    const { client } = await spansOf(() => call(session, 'files_echo', meta), ofTool);
    const { headers, body } = setup.backend.seen.findLast(({ method }) => method === 'tools/call') ?? {
      headers: {},
      body: '',
    };
    const traceparent = `00-${TRACE_A}-${client?.spanId ?? ''}-01`;
    expect(headers).toMatchObject({ traceparent, tracestate: 'rojo=1,congo=2', baggage: 'user=alice' });
    const { params } = JSON.parse(body) as { params: object };
    expect(params).toEqual({ name: 'echo', arguments: { text: 'hi' }, _meta: { ...meta, traceparent } });
    expect(client?.traceState).toBe('rojo=1,congo=2');
  });

  it('follows a caller that is not sampled, and passes its context unchanged', async () => {
    const traceparent = `00-${TRACE_A}-${SPAN_A}-00`;
    const { server } = await spansOf(async () => {
      await call(session, 'files_echo', { traceparent });
      await call(session, 'files_whoami', { traceparent: B });
    }, ofTool);
    expect(server.traceId).toBe(TRACE_B);
    const silent = (await collector.spans()).filter(
      ({ parentSpanId, traceId }) => traceId === TRACE_A && parentSpanId === '',
    );
    expect(silent).toEqual([]);
    const sent = setup.backend.seen.find(({ body }) => body.includes(traceparent));
    expect(sent?.headers['traceparent']).toBeUndefined();
  });

  it('names spans and attributes by the conventions', async () => {
    const { server, client } = await spansOf(() => call(session, 'files_echo'), ofTool);
    const shared = { 'mcp.method.name': 'tools/call', 'gen_ai.operation.name': 'execute_tool' };
    expect(server.name).toBe('tools/call files_echo');
    expect(server.attributes).toEqual({
      ...shared,
      'gen_ai.tool.name': 'files_echo',
      'mcp.tool.name': 'files_echo',
      'mcp.protocol.version': '2025-11-25',
      'mcp.session.id': session.id,
      'jsonrpc.request.id': expect.stringMatching(/^\d+$/u) as unknown,
      'mcp.request.id': expect.stringMatching(/^\d+$/u) as unknown,
      'network.transport': 'tcp',
      'network.protocol.name': 'http',
      'environment.REGION': 'north',
    });
    expect(server.status).toEqual({});
    expect(client?.name).toBe('tools/call echo');
    expect(client?.attributes).toEqual({
      ...shared,
      'gen_ai.tool.name': 'echo',
      'mcp.tool.name': 'echo',
      'mcp.protocol.version': '2025-11-25',
      'network.transport': 'tcp',
      'network.protocol.name': 'http',
      'server.address': '127.0.0.1',
      'server.port': setup.backend.port,
      'vmcp.backend': 'files',
    });
    expect(server.resource).toMatchObject({
      'service.name': 'front',
      'service.namespace': 'team',
      'deployment.environment.name': 'test',
      'telemetry.sdk.language': 'nodejs',
    });
  });

  it.each([
    ['a result with isError', 'tools/call', { name: 'files_failing' }, 'tool_error', 'tool_error'],
    ['an unknown tool', 'tools/call', { name: 'nothing' }, '-32602', undefined],
    [
      'a resource that does not exist',
      'resources/read',
      { uri: 'no://x?token=canary-of-the-uri' },
      '-32002',
      undefined,
    ],
    ['an unknown method', 'tools/guess', {}, '-32601', undefined],
  ])('reports %s', async (_, method, params, atServer, atClient) => {
    const name = method === 'tools/guess' ? '_OTHER' : method;
    const { server, client } = await spansOf(
      () => session.request(method, params),
      (span) => span.attributes['mcp.method.name'] === name && span.status['code'] === 'STATUS_CODE_ERROR',
    );
    expect(server.attributes['error.type']).toBe(atServer);
    expect(client?.attributes['error.type']).toBe(atClient);
    if (atServer !== 'tool_error') expect(server.attributes['rpc.response.status_code']).toBe(atServer);
  });

  it('traces every request of a client of the SDK', async () => {
    const { server } = await spansOf(
      async () => {
        await sdkV1({ transport: 'streamable-http', url: setup.gateway.url }, [{ op: 'tools' }, { op: 'ping' }]);
      },
      ({ name }) => name === 'ping',
    );
    expect(server.attributes['mcp.method.name']).toBe('ping');
    const names = new Set((await collector.spans()).map(({ name }) => name));
    expect([...names]).toEqual(expect.arrayContaining(['initialize', 'tools/list', 'ping']));
  });

  it('sends the last metrics and spans before it stops, and no secret but to the collector', async () => {
    await session.end();
    await setup.gateway.stop();
    const metrics = await collector.metrics();
    const named = (name: string) => metrics.filter((metric) => metric.name === name);
    for (const side of ['server', 'client']) {
      const operations = named(`mcp.${side}.operation.duration`).at(-1);
      expect([operations?.unit, operations?.points[0]?.bounds]).toEqual(['s', MCP_BOUNDS]);
      expect(named(`mcp.${side}.session.duration`).at(-1)?.points.length).toBeGreaterThan(0);
    }
    const echo = named('mcp.client.operation.duration')[0]?.points.find(
      ({ attributes }) => attributes['gen_ai.tool.name'] === 'echo' && attributes['error.type'] === undefined,
    );
    expect(echo?.count).toBeGreaterThan(5);
    expect(echo?.counts.reduce((sum, count) => sum + count, 0)).toBe(echo?.count);
    expect(named('vmcp_sessions')).toHaveLength(1);
    expect(metrics[0]?.resource).toMatchObject({
      'service.name': 'front',
      'service.instance.id': expect.anything() as unknown,
    });
    for (const headers of await collector.headers()) {
      expect(headers).toMatchObject({ authorization: `Bearer ${CANARY}`, 'x-tenant': 'team' });
    }
    const exported = (await collector.text()).replaceAll(`"Bearer ${CANARY}"`, '');
    expect(exported).not.toMatch(/canary/u);
    expect(setup.gateway.output()).not.toContain(CANARY);
  });
});

describe('without telemetry_config', () => {
  it('passes every context unchanged, and loads nothing', async () => {
    const scope = testScope();
    const backend = await startHttpBackend(scope, 'sdk-1-stateful', 'files');
    const vmcp = { ...VMCP, incoming: { type: 'anonymous' } };
    const reached = {
      url: backend.url,
      transport: 'streamable-http',
      allow_private_ips: true,
      insecure_allow_http: true,
    };
    const config = {
      schema_version: SCHEMA_VERSION,
      name: 'plain',
      vmcp: { ...vmcp, backends: [{ name: 'files', ...reached }] },
    };
    const gateway = await startGateway(scope, JSON.stringify(config));
    const session = await openSession(gateway.url);
    const name = await eventually('the tools are there', async () =>
      (await session.tools()).find((tool) => tool.endsWith('echo')),
    );
    await call(session, name, { traceparent: A, baggage: 'user=alice' }, { traceparent: B });
    const sent = backend.seen.findLast(({ method }) => method === 'tools/call');
    expect(sent?.headers['traceparent']).toBeUndefined();
    expect(JSON.parse(sent?.body ?? '')).toMatchObject({
      params: { _meta: { traceparent: A, baggage: 'user=alice' } },
    });
  });
});

it('enableMetricsPath: false turns /metrics off, and nothing else', async () => {
  const scope = testScope();
  const { gateway } = await start(scope, { enableMetricsPath: false });
  expect((await raw(`${gateway.management}/metrics`)).status).toBe(404);
  expect((await raw(`${gateway.management}/status`)).status).toBe(200);
});

it.skipIf(!hasPython)(
  'a collector that hangs or refuses delays no call and no stop, and its losses are counted and logged once',
  survivesCollectors,
);
