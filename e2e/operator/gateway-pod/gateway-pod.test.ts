import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { startHttpBackend } from '../../harness/backends/http.ts';
import { openSession, raw, textOf } from '../../harness/clients/raw.ts';
import { adminApi, startControlPlane, type ControlPlane } from '../../harness/control-plane/control-plane.ts';
import type { ClusterApi } from '../../harness/control-plane/api.ts';
import { eventually } from '../../harness/poll.ts';
import { blockScope, testScope } from '../../harness/scope.ts';
import { auditMark, auditSince, writesOf } from '../audit.ts';
import { backendAt, flappingBackend, originOf, PodPlace, readyz, urlOf } from './gateway-pod.ts';

/** Not shared: a test stops the API server. */
const scope = blockScope();
let plane: ControlPlane;
let api: ClusterApi;
let namespaces = 0;
beforeAll(async () => {
  plane = await startControlPlane(scope);
  api = await adminApi(scope, plane);
});

const place = (): Promise<PodPlace> => PodPlace.make(testScope(), api, plane, `pod-${String((namespaces += 1))}`);
const alpha = () => startHttpBackend(testScope(), 'sdk-1-stateless', 'alpha');
const beta = () => startHttpBackend(testScope(), 'sdk-1-stateless', 'beta');
const probesOften = {
  operational: {
    timeouts: { default: '30s' },
    failure_handling: {
      health_check_interval: '200ms',
      health_check_timeout: '5s',
      unhealthy_threshold: 1,
      circuit_breaker: { enabled: false, failure_threshold: 5, timeout: '60s' },
    },
  },
};

const toolsOf = async (session: Awaited<ReturnType<typeof openSession>>): Promise<string> =>
  JSON.stringify(await session.tools());

describe.concurrent('a gateway in a pod', () => {
  it('is alive at once, becomes ready with its backends, and reports them', async () => {
    const pod = await place();
    const gateway = await pod.start(testScope());
    expect((await raw(`${originOf(gateway)}/health`)).status).toBe(200);
    expect(await readyz(gateway)).toEqual({
      status: 503,
      body: { status: 'not_ready', mode: 'dynamic', reason: 'cache_sync_pending' },
    });
    await eventually('the missing ConfigMap is reported', async () => {
      const [problem] = (await pod.reported()).status?.runtimeProblems ?? [];
      return problem?.['reason'] === 'BackendsNotFound';
    });
    const backend = await alpha();
    await pod.writeBackends([backendAt('alpha', backend.url)]);
    await eventually('it is ready', async () => (await readyz(gateway)).status === 200);
    expect((await readyz(gateway)).body).toEqual({ status: 'ready', mode: 'dynamic' });
    const { status } = await eventually('the backend is reported', async () => {
      const object = await pod.reported();
      return object.status?.backendCount === 1 && object;
    });
    expect(status?.discoveredBackends).toEqual([
      {
        name: 'alpha',
        url: backend.url,
        status: 'ready',
        authType: 'unauthenticated',
        mcpRevision: '2025-11-25',
        circuitBreakerState: 'closed',
        consecutiveFailures: 0,
        lastHealthCheck: expect.any(String) as string,
      },
    ]);
    expect(status?.runtimeProblems ?? []).toEqual([]);
  });

  it('applies changes without interrupting sessions and running calls', async () => {
    const pod = await place();
    const [first, second] = [await alpha(), await beta()];
    await pod.writeBackends([backendAt('alpha', first.url)]);
    const gateway = await pod.start(testScope());
    await eventually('it is ready', async () => (await readyz(gateway)).status === 200);
    const session = await openSession(urlOf(gateway));
    await session.tools();
    const running = session.call('alpha_slow', { ms: 2_000 });
    await sleep(200);
    await pod.writeBackends([backendAt('alpha', first.url), backendAt('beta', second.url)]);
    await eventually('the new backend is listed', async () => (await toolsOf(session)).includes('beta_echo'));
    expect(textOf(await session.call('beta_echo', { text: 'hi' }))).toBe('hi');
    await pod.writeBackends([backendAt('beta', second.url)]);
    await eventually('the old backend is not listed', async () => !(await toolsOf(session)).includes('alpha_echo'));
    expect(textOf(await running)).toBe('waited 2000 ms');
    expect(textOf(await session.call('beta_echo', { text: 'still' }))).toBe('still');
    const rules = { filter: ['echo'], overrides: { echo: { name: 'say' } } };
    await pod.writeBackends([backendAt('beta', second.url)], { backend_tools: { beta: rules } });
    await eventually('its rules apply', async () => (await toolsOf(session)) === '["beta_say"]');
    expect(textOf(await session.call('beta_say', { text: 'renamed' }))).toBe('renamed');
    expect((await session.call('beta_add', { a: 1, b: 2 })).error).toMatchObject({ code: -32602 });
  });

  it.each([
    ['no JSON', '{', 'InvalidJSON', '(document)'],
    ['another version', '{"schema_version":"v9","backends":[]}', 'UnknownSchemaVersion', 'schema_version'],
    ['an unknown member', '{"schema_version":"v0.1.0","backends":[],"x":1}', 'UnknownField', 'x'],
    [
      'a backend without url',
      '{"schema_version":"v0.1.0","backends":[{"name":"a","transport":"sse"}]}',
      'MissingField',
      'vmcp.backends[0].url',
    ],
  ])('keeps the last good backends when the document is %s', async (_what, document, reason, path) => {
    const pod = await place();
    const backend = await alpha();
    await pod.writeBackends([backendAt('alpha', backend.url)]);
    const gateway = await pod.start(testScope());
    const session = await eventually('a session opens', async () => {
      return (await readyz(gateway)).status === 200 && (await openSession(urlOf(gateway)));
    });
    await pod.writeDocument(document);
    await eventually('the problem is reported', async () => {
      const problems = (await pod.reported()).status?.runtimeProblems ?? [];
      return problems.some((problem) => problem['reason'] === reason && problem['path'] === path);
    });
    const { body } = await raw(`${gateway.managementUrl}/status`);
    expect((JSON.parse(body) as { problems: unknown }).problems).toMatchObject([{ reason, path }]);
    expect((await readyz(gateway)).status).toBe(200);
    expect(textOf(await session.call('alpha_echo', { text: 'hi' }))).toBe('hi');
    await pod.writeBackends([backendAt('alpha', backend.url)]);
    await eventually('the problem is gone', async () => (await pod.reported()).status?.runtimeProblems === undefined);
  });

  it('waits for a file that is not mounted yet', async () => {
    const pod = await place();
    const [first, second] = [await alpha(), await beta()];
    await pod.writeBackends([backendAt('alpha', first.url)]);
    const gateway = await pod.start(testScope());
    const folder = await mkdtemp(join(tmpdir(), 'vmcp-mount-'));
    testScope().defer(() => rm(folder, { recursive: true }));
    const file = join(folder, 'key');
    const header_forward = { add_headers_from_file: { 'X-Key': file } };
    await eventually('it is ready', async () => (await readyz(gateway)).status === 200);
    await pod.writeBackends([backendAt('alpha', first.url), { ...backendAt('beta', second.url), header_forward }]);
    await eventually('the missing file is reported', async () => {
      const [problem] = (await pod.reported()).status?.runtimeProblems ?? [];
      return problem?.['path'] === 'vmcp.backends[1].header_forward.add_headers_from_file.X-Key';
    });
    const session = await openSession(urlOf(gateway));
    expect(textOf(await session.call('alpha_echo', { text: 'hi' }))).toBe('hi');
    await writeFile(file, 'secret');
    await eventually('the backend is listed', async () => (await toolsOf(session)).includes('beta_echo'));
  });

  it('keeps serving when the ConfigMap is deleted', async () => {
    const pod = await place();
    const backend = await alpha();
    await pod.writeBackends([backendAt('alpha', backend.url)]);
    const gateway = await pod.start(testScope());
    await eventually('it is ready', async () => (await readyz(gateway)).status === 200);
    await pod.deleteBackends();
    await eventually('the missing ConfigMap is reported', async () => {
      const [problem] = (await pod.reported()).status?.runtimeProblems ?? [];
      return problem?.['reason'] === 'BackendsNotFound';
    });
    const session = await openSession(urlOf(gateway));
    expect(textOf(await session.call('alpha_echo', { text: 'hi' }))).toBe('hi');
  });
});

describe.concurrent('the status report of a pod', () => {
  it('is not written at rest, despite frequent probes and a second pod with the same view', async () => {
    const pod = await place();
    const backend = await alpha();
    const gone = 'http://127.0.0.1:9/mcp';
    await pod.writeBackends([backendAt('alpha', backend.url), backendAt('beta', gone)]);
    await pod.start(testScope(), probesOften);
    const before = await eventually('both are reported', async () => {
      const object = await pod.reported();
      const states = object.status?.discoveredBackends?.map(({ status }) => status);
      return states?.join() === 'ready,unavailable' && object;
    });
    const mark = await auditMark(plane);
    const second = await pod.start(testScope(), probesOften);
    await eventually('the second is ready', async () => (await readyz(second)).status === 200);
    await sleep(5_000);
    expect(writesOf(await auditSince(plane, mark), pod.username)).toEqual([]);
    expect((await pod.reported()).metadata.resourceVersion).toBe(before.metadata.resourceVersion);
  });

  it('is written at most once per interval while 50 backends flap', async () => {
    const pod = await place();
    const url = await flappingBackend(testScope());
    const names = Array.from({ length: 50 }, (_, index) => `b${String(index).padStart(2, '0')}`);
    await pod.writeBackends(names.map((name) => backendAt(name, `${url}/${name}`)));
    await pod.start(testScope(), probesOften, '2s');
    const isReported = async () => (await pod.reported()).status?.backendCount !== undefined;
    await eventually('the first report, which waits for starting servers', isReported, { timeoutMs: 25_000 });
    const mark = await auditMark(plane);
    const start = performance.now();
    await sleep(9_000);
    const intervals = Math.floor((performance.now() - start) / 2_000);
    const writes = writesOf(await auditSince(plane, mark), pod.username);
    expect(writes.length).toBeGreaterThan(1);
    expect(writes.length).toBeLessThanOrEqual(intervals + 1);
    expect(writes.every(({ responseStatus }) => responseStatus?.code === 200)).toBe(true);
  });

  it('has its own field manager: the fields of the operator stay', async () => {
    const pod = await place();
    const object = await pod.reported();
    const { apiVersion, kind } = object;
    const metadata = { name: object.metadata.name, namespace: pod.namespace };
    const path = `/apis/${apiVersion}/namespaces/${pod.namespace}/virtualmcpservers/${metadata.name}/status`;
    const written = { apiVersion, kind, metadata, status: { phase: 'Ready', url: 'http://x/mcp' } };
    const type = 'application/apply-patch+yaml';
    await api.send('PATCH', `${path}?fieldManager=vmcp-operator&force=true`, written, type);
    const backend = await alpha();
    await pod.writeBackends([backendAt('alpha', backend.url)]);
    await pod.start(testScope());
    await eventually('the backend is reported', async () => (await pod.reported()).status?.backendCount === 1);
    await pod.writeBackends([]);
    await eventually('none is', async () => (await pod.reported()).status?.backendCount === 0);
    const { status, metadata: now } = await pod.reported();
    expect(status).toEqual({ observedGeneration: -1, phase: 'Ready', url: 'http://x/mcp', backendCount: 0 });
    expect(now.managedFields?.map(({ manager }) => manager)).toContain('vmcp-gateway');
  });
});

it('serves clients while the API server is stopped, and applies the changes afterwards', async () => {
  const pod = await place();
  const [first, second] = [await alpha(), await beta()];
  await pod.writeBackends([backendAt('alpha', first.url)]);
  const gateway = await pod.start(testScope());
  await eventually('it is ready', async () => (await readyz(gateway)).status === 200);
  const session = await openSession(urlOf(gateway));
  await plane.apiserver.stop();
  const late = await pod.start(testScope());
  expect((await raw(`${originOf(late)}/health`)).status).toBe(200);
  for (let times = 0; times < 20; times += 1) {
    expect(textOf(await session.call('alpha_echo', { text: 'hi' }))).toBe('hi');
    await sleep(50);
  }
  expect((await readyz(gateway)).status).toBe(200);
  expect((await readyz(late)).status).toBe(503);
  await plane.apiserver.start();
  await pod.writeBackends([backendAt('alpha', first.url), backendAt('beta', second.url)]);
  await eventually('the new backend is listed', async () => (await toolsOf(session)).includes('beta_echo'));
  await eventually('the second gateway is ready', async () => (await readyz(late)).status === 200);
  await eventually('both are reported', async () => (await pod.reported()).status?.backendCount === 2);
});
