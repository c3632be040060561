import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { startHttpBackend } from '../harness/backends/http.ts';
import { initializeRequest, MCP_HEADERS, openSession, raw, rpc, rpcReply, textOf } from '../harness/clients/raw.ts';
import { entry, gatewayOver, server } from '../harness/manifests.ts';
import { npmRegistry, npx } from '../harness/packages.ts';
import { eventually } from '../harness/poll.ts';
import { beside, printOnFailure, testScope } from '../harness/scope.ts';
import { startVmcp, within, type Vmcp } from '../harness/vmcp.ts';
import { listen } from './modern/testdata/modern-request.ts';

const GRACE_MS = 40_000;
const WORKERS = 16;
const LOAD_LIMIT_MS = 60_000;

async function start(...extra: Parameters<typeof gatewayOver>[0]) {
  const scope = testScope();
  const backend = await startHttpBackend(scope, 'sdk-1-stateless', 'alpha');
  const files = gatewayOver([entry('alpha', backend.url), ...extra]);
  const vmcp = await startVmcp(scope, { files, env: await npmRegistry(scope) });
  printOnFailure(() => vmcp.output().slice(-4_000));
  return { vmcp, backend };
}

const exitOf = (vmcp: Vmcp) => within(vmcp.exited, GRACE_MS, () => `vmcp does not end:\n${vmcp.output()}`);

const exitDespiteCall = beside(async (scope) => {
  const backend = await startHttpBackend(scope, 'sdk-1-stateless', 'alpha');
  const operational = { timeouts: { default: '10m' } };
  const vmcp = await startVmcp(scope, { files: gatewayOver([entry('alpha', backend.url)], { operational }) });
  const session = await openSession(vmcp.url);
  await session.tools();
  const call = session.call('alpha_slow', { ms: 300_000 }, { timeoutMs: 100_000 }).catch((error: unknown) => error);
  await sleep(300);
  vmcp.signal('SIGTERM');
  await within(vmcp.exited, 45_000, () => `vmcp runs longer than its grace period:\n${vmcp.output()}`);
  await call;
});

interface Attempt {
  readonly startedAt: number;
  readonly outcome: 'answered' | 'refused';
  readonly detail: string;
}

/** Calls without a pause until the gateway refuses a call. */
async function worker(vmcp: Vmcp, attempts: Attempt[]): Promise<void> {
  const session = await openSession(vmcp.url);
  const until = performance.now() + LOAD_LIMIT_MS;
  while (performance.now() < until) {
    const startedAt = performance.now();
    try {
      const reply = await session.call('alpha_slow', { ms: 200 });
      const answered = textOf(reply) === 'waited 200 ms';
      attempts.push({ startedAt, outcome: answered ? 'answered' : 'refused', detail: `${reply.status} ${reply.text}` });
      if (!answered) return;
    } catch (error) {
      attempts.push({ startedAt, outcome: 'refused', detail: String(error) });
      return;
    }
  }
}

it.each(['SIGTERM', 'SIGINT'] as const)('%s under load completes every accepted call', async (signal) => {
  const { vmcp, backend } = await start();
  const attempts: Attempt[] = [];
  const load = Promise.all(Array.from({ length: WORKERS }, () => worker(vmcp, attempts)));
  const answered = () => attempts.filter(({ outcome }) => outcome === 'answered').length;
  await eventually('every worker has had answers', () => answered() > WORKERS * 3, { timeoutMs: 30_000 });
  const signalledAt = performance.now();
  vmcp.signal(signal);
  await load;
  expect(await exitOf(vmcp)).toEqual({ code: 0, signal: null });
  const lost = attempts.filter(({ outcome, startedAt }) => outcome === 'refused' && startedAt < signalledAt - 50);
  expect(lost).toEqual([]);
  expect(backend.seen.filter(({ method }) => method === 'tools/call')).toHaveLength(answered());
});

/** Calls on kept connections with a pause of 0.4 to 0.9 s after each call, until the port is closed. Returns how each call ended. */
async function thinkingClient(vmcp: Vmcp, pauseMs: number): Promise<string[]> {
  const { headers } = await openSession(vmcp.url);
  const agent = new Agent({ keepAlive: true });
  const body = rpc('tools/call', { name: 'alpha_slow', arguments: { ms: 100 } }, 7);
  const call = (): Promise<string> =>
    new Promise((resolve) => {
      const sent = request(vmcp.url, { method: 'POST', agent, headers: { ...headers, 'content-length': body.length } });
      sent.on('error', ({ code }: NodeJS.ErrnoException) => {
        resolve(code ?? 'error');
      });
      sent.on('response', (answer) => {
        const { statusCode, headers: received } = answer;
        text(answer).then(
          (read) => {
            resolve(read.includes('waited 100 ms') ? `answered, ${received.connection}` : `${statusCode} ${read}`);
          },
          (error: unknown) => {
            resolve(String(error));
          },
        );
      });
      sent.end(body);
    });
  const outcomes: string[] = [];
  while (outcomes.at(-1) !== 'ECONNREFUSED' && outcomes.length < 100) {
    outcomes.push(await call());
    await sleep(pauseMs);
  }
  agent.destroy();
  return outcomes;
}

it('SIGTERM loses no call of clients that keep their connections and pause between calls', async () => {
  const { vmcp } = await start();
  const load = Promise.all(Array.from({ length: 50 }, (_, index) => thinkingClient(vmcp, 400 + index * 10)));
  await sleep(2_500);
  vmcp.signal('SIGTERM');
  const outcomes = await load;
  expect(await exitOf(vmcp)).toEqual({ code: 0, signal: null });
  expect([...new Set(outcomes.flat())].toSorted()).toEqual(['ECONNREFUSED', 'answered, close', 'answered, keep-alive']);
  // every client learns of the stop before the port closes
  expect(outcomes.map((all) => all.at(-2))).toEqual(outcomes.map(() => 'answered, close'));
});

it('completes a call of some seconds while it rejects new sessions and is not ready', async () => {
  const { vmcp } = await start();
  const session = await openSession(vmcp.url);
  await session.tools();
  const call = session.call('alpha_slow', { ms: 4_000 });
  await sleep(300);
  vmcp.signal('SIGTERM');
  await eventually('/readyz answers 503', async () => {
    const ready = await raw(`${vmcp.origin}/readyz`).catch(() => ({ status: 0 }));
    return ready.status !== 200;
  });
  const opened = await raw(vmcp.url, { method: 'POST', headers: MCP_HEADERS, body: initializeRequest() }).catch(() => ({
    status: 0,
    headers: {},
  }));
  expect([0, 503]).toContain(opened.status);
  expect(textOf(await call)).toBe('waited 4000 ms');
  expect(await exitOf(vmcp)).toEqual({ code: 0, signal: null });
});

/** Sends a request in two parts: the head with the first byte at once, the rest after `pauseMs`. */
async function slowRequest(url: string, headers: Readonly<Record<string, string>>, body: string, pauseMs: number) {
  const answered = Promise.withResolvers<{ readonly status: number | undefined; readonly text: string }>();
  const sent = request(url, { method: 'POST', headers: { ...headers, 'content-length': Buffer.byteLength(body) } });
  sent.on('error', answered.reject).on('response', (answer) => {
    text(answer).then((read) => {
      answered.resolve({ status: answer.statusCode, text: read });
    }, answered.reject);
  });
  answered.promise.catch(() => undefined); // it may fail before the test awaits it
  sent.write(body.slice(0, 1));
  await sleep(pauseMs);
  sent.end(body.slice(1));
  return answered.promise;
}

it.each([300, 1_500])('completes a call whose body arrives until %i ms after SIGTERM', async (pauseMs) => {
  const { vmcp } = await start();
  const session = await openSession(vmcp.url);
  await session.tools();
  const body = rpc('tools/call', { name: 'alpha_slow', arguments: { ms: 1_000 } }, 7);
  const call = slowRequest(vmcp.url, session.headers, body, 200 + pauseMs);
  await sleep(200);
  vmcp.signal('SIGTERM');
  const { status, text: reply } = await call;
  expect(status).toBe(200);
  expect(JSON.parse(reply)).toMatchObject({ id: 7, result: { content: [{ text: 'waited 1000 ms' }] } });
  expect(await exitOf(vmcp)).toEqual({ code: 0, signal: null });
});

it('answers a running call with an error when its session ends', async () => {
  const { vmcp } = await start();
  const session = await openSession(vmcp.url);
  await session.tools();
  const call = session.post(rpc('tools/call', { name: 'alpha_slow', arguments: { ms: 10_000 } }, 7));
  await sleep(300);
  expect((await session.end()).status).toBe(204);
  expect(rpcReply(await call)).toMatchObject({ error: { code: -32603 } });
});

it('completes a call over stdio before it stops the server', async () => {
  const { vmcp } = await start(server('local', npx('vmcp-fixture'), { args: ['local'] }));
  const session = await openSession(vmcp.url);
  await eventually('the server runs', async () => textOf(await session.call('local_echo', { text: 'up' })) === 'up', {
    timeoutMs: 60_000,
  });
  const call = session.call('local_slow', { ms: 3_000 });
  await sleep(300);
  vmcp.signalGroup('SIGINT');
  expect(textOf(await call)).toBe('waited 3000 ms');
  expect(await exitOf(vmcp)).toEqual({ code: 0, signal: null });
});

it('ends open event streams cleanly and without delay', async () => {
  const { vmcp } = await start();
  const session = await openSession(vmcp.url);
  const streamHeaders = { ...session.headers, accept: 'text/event-stream' };
  const answer = await fetch(vmcp.url, { headers: streamHeaders });
  expect(answer.status).toBe(200);
  const body = answer.text();
  const began = performance.now();
  vmcp.signal('SIGTERM');
  expect(await exitOf(vmcp)).toEqual({ code: 0, signal: null });
  await expect(body).resolves.toEqual(expect.any(String)); // a cut stream rejects
  expect(performance.now() - began).toBeLessThan(15_000);
});

it('ends streams of subscriptions/listen with their result when it begins to stop', async () => {
  const { vmcp } = await start();
  const streams = await Promise.all([{ toolsListChanged: true }, {}].map((wanted) => listen(vmcp.url, wanted)));
  await eventually('the streams are open', () => streams.every(({ messages }) => messages.length > 0));
  const [stream] = streams;
  expect(stream?.ended()).toBe(false);
  const began = performance.now();
  vmcp.signal('SIGTERM');
  await eventually('the stream ends', () => stream?.ended() === true);
  const result = { _meta: { 'io.modelcontextprotocol/subscriptionId': 1 }, resultType: 'complete' };
  expect(stream?.messages.at(-1)).toMatchObject({ id: 1, result });
  const late = await listen(vmcp.url, { toolsListChanged: true }).catch(() => ({ status: 0, messages: [] }));
  expect([0, 503]).toContain(late.status);
  expect(await exitOf(vmcp)).toEqual({ code: 0, signal: null });
  expect(performance.now() - began).toBeLessThan(15_000);
});

it('exits after the grace period despite a call that never ends', exitDespiteCall);
