import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it } from 'vitest';
import type { Fault, HttpBackend } from '../harness/backends/host.ts';
import { startHttpBackend } from '../harness/backends/http.ts';
import { connectV1 } from '../harness/clients/sdk-v1.ts';
import { openSession, raw, textOf } from '../harness/clients/raw.ts';
import { entry, gatewayOver, server } from '../harness/manifests.ts';
import { npmRegistry, npx } from '../harness/packages.ts';
import { eventually } from '../harness/poll.ts';
import { beside, printOnFailure, testScope } from '../harness/scope.ts';
import { startVmcp, type Vmcp } from '../harness/vmcp.ts';

const UNAVAILABLE = 'vmcp.dev/unavailableBackends';
const often = { healthCheckInterval: '1s', healthCheckTimeout: '1s', unhealthyThreshold: 2 };

interface Setup {
  vmcp: Vmcp;
  good: HttpBackend;
  bad: HttpBackend;
}

/** Starts two backends, `good` and `bad`, and vmcp. `bad` has `fault` from the beginning. */
async function setup(operational: Record<string, unknown>, fault?: HttpBackend['fault'], delayMs = 0): Promise<Setup> {
  const scope = testScope();
  const [good, bad] = await Promise.all([
    startHttpBackend(scope, 'sdk-1-stateful', 'good'),
    startHttpBackend(scope, 'sdk-1-stateful', 'bad'),
  ]);
  bad.fault = fault;
  bad.delayMs = delayMs;
  const files = gatewayOver([entry('bad', bad.url), entry('good', good.url)], { operational });
  const vmcp = await startVmcp(scope, { files });
  printOnFailure(() => vmcp.output().slice(-4_000));
  return { vmcp, good, bad };
}

interface BackendHealth {
  status: string;
  circuit_state: string;
  consecutive_failures: number;
  last_error_category?: string;
}

async function healthOf(vmcp: Vmcp, name: string): Promise<BackendHealth | undefined> {
  const { body } = await raw(`${vmcp.management}/api/backends/health`);
  return (JSON.parse(body) as { backends: Record<string, BackendHealth> }).backends[name];
}

const becomes = (vmcp: Vmcp, name: string, status: string) =>
  eventually(`${name} is ${status}`, async () => (await healthOf(vmcp, name))?.status === status);

const timed = async <T>(work: () => Promise<T>): Promise<[T, number]> => {
  const began = performance.now();
  const result = await work();
  return [result, performance.now() - began];
};

const callLongerThan30s = beside(async (scope) => {
  const good = await startHttpBackend(scope, 'sdk-1-stateful', 'good');
  const operational = { timeouts: { default: '60s' } };
  const vmcp = await startVmcp(scope, { files: gatewayOver([entry('good', good.url)], { operational }) });
  const session = await openSession(vmcp.url);
  await session.tools();
  const reply = await session.call('good_slow', { ms: 33_000 }, { timeoutMs: 60_000 });
  expect(textOf(reply)).toBe('waited 33000 ms');
});

describe.concurrent('a backend that hangs', () => {
  it('does not delay initialize, and its tools are omitted from the list', async () => {
    const { vmcp } = await setup({ timeouts: { default: '4s' } }, () => 'hang');
    const [session, initializeMs] = await timed(() => openSession(vmcp.url));
    expect(initializeMs).toBeLessThan(3_900);
    const [{ result }, listMs] = await timed(() => session.request('tools/list'));
    expect(listMs).toBeLessThan(12_000);
    const names = (result!['tools'] as { name: string }[]).map(({ name }) => name);
    expect(names).toContain('good_echo');
    expect(names.filter((name) => name.startsWith('bad_'))).toEqual([]);
    expect(result?.['_meta']).toMatchObject({ [UNAVAILABLE]: ['bad'] });
  });

  it('does not delay calls to the others', async () => {
    const { vmcp } = await setup({ timeouts: { default: '20s' } }, () => 'hang');
    const session = await openSession(vmcp.url);
    const [reply, callMs] = await timed(() => session.call('good_echo', { text: 'hi' }));
    expect(reply.result).toMatchObject({ content: [{ text: 'hi' }] });
    expect(callMs).toBeLessThan(10_000);
  });
});

describe.concurrent('a backend that is slow', () => {
  it('delays the first list, but not initialize', async () => {
    const { vmcp } = await setup({ timeouts: { default: '20s' } }, undefined, 2_000); // each answer
    const [session, initializeMs] = await timed(() => openSession(vmcp.url));
    expect(initializeMs).toBeLessThan(1_900);
    expect(await session.tools()).toEqual(expect.arrayContaining(['bad_echo', 'good_echo']));
  });
});

describe.concurrent('partialFailureMode', () => {
  it('fail: lists return an error with the name of the backend, calls to the others work, /readyz stays 200', async () => {
    const failureHandling = { ...often, partialFailureMode: 'fail' };
    const { vmcp } = await setup({ timeouts: { default: '2s' }, failureHandling }, () => 'reset');
    await becomes(vmcp, 'bad', 'unhealthy');
    const session = await openSession(vmcp.url);
    for (const method of ['tools/list', 'resources/list', 'prompts/list', 'resources/templates/list']) {
      const { error } = await session.request(method);
      expect(error).toMatchObject({ code: -32603, message: expect.stringContaining('bad') as unknown });
    }
    expect((await session.call('good_echo', { text: 'hi' })).result).toMatchObject({ content: [{ text: 'hi' }] });
    expect((await raw(`${vmcp.origin}/readyz`)).status).toBe(200);
  });

  it.each(['best_effort', undefined])('%s: lists name the missing backend in _meta', async (mode) => {
    const failureHandling = { ...often, ...(mode !== undefined && { partialFailureMode: mode }) };
    const { vmcp } = await setup({ failureHandling }, () => 'status-500');
    await becomes(vmcp, 'bad', 'unhealthy');
    const session = await openSession(vmcp.url);
    await eventually('the good backend is listed', async () => (await session.tools()).includes('good_echo'));
    const { result } = await session.request('tools/list');
    expect(result?.['_meta']).toMatchObject({ [UNAVAILABLE]: ['bad'] });
  });
});

describe.concurrent('a timeout', () => {
  it('of one workload ends its calls, and not longer calls of others', async () => {
    const { vmcp } = await setup({ timeouts: { default: '20s', perWorkload: { bad: '700ms' } } });
    const session = await openSession(vmcp.url);
    await eventually('the slow tool is listed', async () => (await session.tools()).includes('bad_slow'));
    const [cut, cutMs] = await timed(() => session.call('bad_slow', { ms: 15_000 }));
    expect(cut.result).toMatchObject({ isError: true });
    expect(textOf(cut)).toMatch(/bad.*timed out|timed out.*bad|timed out after/);
    expect(cutMs).toBeGreaterThan(600);
    expect(cutMs).toBeLessThan(5_000);
    expect(textOf(await session.call('good_slow', { ms: 1_500 }))).toBe('waited 1500 ms');
  });
});

describe.concurrent('the circuit', () => {
  it('opens after failed calls, fails calls at once without a request, and closes after a trial call', async () => {
    const circuitBreaker = { enabled: true, failureThreshold: 3, timeout: '3s' };
    const failureHandling = { healthCheckInterval: '10m', circuitBreaker };
    const { vmcp, bad } = await setup({ timeouts: { default: '5s' }, failureHandling });
    const session = await openSession(vmcp.url);
    await session.tools();
    expect(await healthOf(vmcp, 'bad')).toMatchObject({ circuit_state: 'closed' });
    bad.fault = (method) => (method === 'tools/call' ? 'reset' : undefined);
    for (let call = 0; call < 3; call += 1) {
      expect((await session.call('bad_echo', { text: 'x' })).result).toMatchObject({ isError: true });
    }
    expect(await healthOf(vmcp, 'bad')).toMatchObject({ circuit_state: 'open' });

    const callsSeen = () => bad.seen.filter(({ method }) => method === 'tools/call').length;
    const before = callsSeen();
    const [refused, refusedMs] = await timed(() => session.call('bad_echo', { text: 'x' }));
    expect(refused.result).toMatchObject({ isError: true });
    expect(textOf(refused)).toContain('bad');
    expect({ seen: callsSeen(), fast: refusedMs < 1_000 }).toEqual({ seen: before, fast: true });
    expect((await session.call('good_echo', { text: 'hi' })).result).toMatchObject({ content: [{ text: 'hi' }] });

    bad.fault = undefined;
    await eventually(
      'a trial call succeeds',
      async () => textOf(await session.call('bad_echo', { text: 'back' })) === 'back',
    );
    expect(await healthOf(vmcp, 'bad')).toMatchObject({ circuit_state: 'closed' });
  });

  it('ignores errors of tools', async () => {
    const circuitBreaker = { enabled: true, failureThreshold: 2, timeout: '60s' };
    const { vmcp } = await setup({ failureHandling: { circuitBreaker } });
    const session = await openSession(vmcp.url);
    for (let call = 0; call < 5; call += 1)
      expect(textOf(await session.call('bad_failing'))).toBe('this tool always fails');
    expect((await session.call('bad_no_such_tool')).error).toMatchObject({ code: -32602 });
    expect(textOf(await session.call('bad_echo', { text: 'fine' }))).toBe('fine');
  });
});

describe.concurrent('a backend that crashes', () => {
  it('is shown in /status, omitted from lists, and restored for connected clients without a reconnect', async () => {
    const { vmcp, bad } = await setup({ timeouts: { default: '3s' }, failureHandling: often });
    const { client, close } = await connectV1({ transport: 'streamable-http', url: vmcp.url });
    const names = async () => (await client.listTools()).tools.map(({ name }) => name);
    let changes = 0;
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => void (changes += 1));
    await eventually('both are listed', async () => (await names()).includes('bad_echo'));
    await becomes(vmcp, 'bad', 'healthy');

    const beforeCrash = changes;
    await bad.crash();
    await becomes(vmcp, 'bad', 'unhealthy');
    const status = JSON.parse((await raw(`${vmcp.management}/status`)).body) as {
      healthy: boolean;
      backends: unknown[];
    };
    expect(status).toMatchObject({ healthy: true });
    expect(status.backends).toContainEqual(expect.objectContaining({ name: 'bad', health: 'unhealthy' }));
    await eventually('the client is notified of removed tools', () => changes > beforeCrash);
    expect((await names()).filter((name) => name.startsWith('bad_'))).toEqual([]);

    const beforeRecovery = changes;
    await bad.recover();
    await eventually('bad serves again', async () =>
      ['healthy', 'degraded'].includes((await healthOf(vmcp, 'bad'))?.status ?? ''),
    );
    await eventually('the client is notified of added tools', () => changes > beforeRecovery);
    expect(await names()).toContain('bad_echo');
    const reply = await client.callTool({ name: 'bad_echo', arguments: { text: 'back' } });
    expect(reply).toMatchObject({ content: [{ text: 'back' }] });
    await close();
  });

  it('loses its sessions, and calls of an older client session succeed', async () => {
    const { vmcp, bad } = await setup({ failureHandling: often });
    const session = await openSession(vmcp.url);
    await eventually('the backend is listed', async () => (await session.tools()).includes('bad_echo'));
    expect(textOf(await session.call('bad_echo', { text: 'one' }))).toBe('one');
    bad.fault = (method) => (method === 'tools/call' ? 'status-404' : undefined); // the answer of a restarted server for an old session
    await session.call('bad_echo', { text: 'two' });
    bad.fault = undefined;
    await eventually(
      'calls succeed again',
      async () => textOf(await session.call('bad_echo', { text: 'three' })) === 'three',
    );
  });

  it('over stdio fails the running call and is restarted', async () => {
    const scope = testScope();
    const env = await npmRegistry(scope);
    const files = gatewayOver([server('local', npx('vmcp-fixture'), { args: ['local'] })]);
    const vmcp = await startVmcp(scope, { files, env });
    const session = await openSession(vmcp.url);
    const pid = async () => textOf(await session.call('local_whoami')).split(' ')[1];
    const first = await eventually('the server runs', async () => /^\d+$/.exec((await pid()) ?? '')?.[0], {
      timeoutMs: 60_000,
    });
    const crashed = await session.call('local_crash');
    expect(crashed.result).toMatchObject({ isError: true });
    expect(textOf(crashed)).toContain('local');
    const second = await eventually('the server runs again', async () => /^\d+$/.exec((await pid()) ?? '')?.[0]);
    expect(second).not.toBe(first);
  });
});

describe.concurrent('a client session that ends', () => {
  it('ends its sessions and streams at the backends', async () => {
    const { vmcp, good } = await setup({});
    const session = await openSession(vmcp.url);
    await session.call('good_echo', { text: 'hi' });
    const { headers } = good.seen.findLast(({ method }) => method === 'tools/call')!;
    await session.end();
    await eventually('the backend session is deleted', () =>
      good.seen.some(
        (seen) => seen.httpMethod === 'DELETE' && seen.headers['mcp-session-id'] === headers['mcp-session-id'],
      ),
    );
  });
});

describe.concurrent('a backend that misbehaves', () => {
  const FAULTS: Fault[] = ['status-500', 'garbage', 'html', 'redirect', 'reset', 'wrong-id', 'huge'];

  it.each(FAULTS)('in a call (%s) fails only that call, without internal details', async (fault) => {
    const { vmcp, bad } = await setup({ timeouts: { default: '8s' } });
    const session = await openSession(vmcp.url);
    await session.tools();
    bad.fault = (method) => (method === 'tools/call' ? fault : undefined);
    const [failed, healthy] = await Promise.all([
      session.call('bad_echo', { text: 'x' }),
      session.call('good_echo', { text: 'fine' }),
    ]);
    expect(failed.result?.['isError'] ?? failed.error?.code).toSatisfy(
      (sign) => sign === true || typeof sign === 'number',
    );
    expect(textOf(failed)).toContain('bad');
    expect(failed.text).not.toMatch(/secret-internal|sign in|oops|127\.0\.0\.1:9/);
    expect(textOf(healthy)).toBe('fine');
  });

  it.each(FAULTS)('from the start (%s) is omitted, and the others serve', async (fault) => {
    const { vmcp } = await setup({ timeouts: { default: '3s' }, failureHandling: often }, () => fault);
    await becomes(vmcp, 'good', 'healthy');
    const session = await openSession(vmcp.url);
    const tools = await session.tools();
    expect(tools).toContain('good_echo');
    expect(tools.filter((name) => name.startsWith('bad_'))).toEqual([]);
    await becomes(vmcp, 'bad', 'unhealthy');
    expect(vmcp.running()).toBe(true);
  });

  it.each(['vmcp-fixture-garbage', 'vmcp-fixture-hang', 'vmcp-fixture-crash-loop'] as const)(
    'over stdio (%s) is omitted, and the others serve',
    async (name) => {
      const scope = testScope();
      const env = await npmRegistry(scope);
      const good = await startHttpBackend(scope, 'sdk-1-stateful', 'good');
      const operational = { timeouts: { default: '3s' }, failureHandling: often };
      const files = gatewayOver([server('bad', npx(name)), entry('good', good.url)], { operational });
      const vmcp = await startVmcp(scope, { files, env });
      await becomes(vmcp, 'good', 'healthy');
      const session = await openSession(vmcp.url);
      expect(await session.tools()).toContain('good_echo');
      await becomes(vmcp, 'bad', 'unhealthy');
      expect(textOf(await session.call('good_echo', { text: 'fine' }))).toBe('fine');
    },
  );
});

it('respects a timeout of more than 30 s', callLongerThan30s);
