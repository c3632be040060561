import { Account, createBudgets } from '../../budgets/account.ts';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { createLogger } from 'winston';
import { Writable } from 'node:stream';
import { DISCOVERY } from '../channel.ts';
import { createLauncher } from '../../../workloads/runner/launcher.ts';
import type { Launcher } from '../../../workloads/runner/runner.ts';
import { stdioTransport, type StdioTransport, type StdioTransportOptions } from './stdio-transport.ts';
import { callTool, ownerOf, startCall, textOf, toolParams } from '../testdata/calls.ts';
import { failureOf } from '../testdata/failure-of.ts';

const lines: Record<string, unknown>[] = [];
const sink = new Writable({
  objectMode: true,
  write(line: Record<string, unknown>, _, done) {
    lines.push(line);
    done();
  },
});
const log = createLogger({ level: 'debug' });
log.pipe(sink);
const never = new AbortController().signal;

let launcher: Launcher;
let stateDir: string;
let nowMs = 0;
let pids: number[] = [];
const open: StdioTransport[] = [];

beforeAll(async () => {
  stateDir = await mkdtemp(join(tmpdir(), 'vmcp-stdio-'));
  launcher = createLauncher({ stateDir, projectRoot: process.cwd(), hostEnv: process.env, log });
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((transport) => transport.close()));
  expect(pids.filter(isRunning)).toEqual([]);
  pids = [];
  lines.length = 0;
});
afterAll(async () => {
  await launcher.close();
  await rm(stateDir, { recursive: true });
});

function transportOf(script: string, options: Partial<StdioTransportOptions> = {}, ...args: string[]): StdioTransport {
  const file = fileURLToPath(new URL(`../testdata/${script}`, import.meta.url));
  const transport = stdioTransport({
    name: 'fixture',
    clientInfo: { name: 'vmcp', version: '0.1.0' },
    initTimeoutMs: 10_000,
    maxMessageBytes: 1 << 20,
    now: () => nowMs,
    log,
    launcher: {
      spawn(command, spawnOptions) {
        const child = launcher.spawn(command, spawnOptions);
        if (child.pid > 0) pids.push(child.pid);
        return child;
      },
    },
    command: () => Promise.resolve({ file: process.execPath, args: [file, ...args], env: {}, envFiles: {} }),
    isolation: 'session',
    maxProcesses: 16,
    idleMs: 600_000,
    ...options,
  });
  open.push(transport);
  return transport;
}
const sdk = (options: Partial<StdioTransportOptions> = {}) => transportOf('sdk-server.ts', options);
const bad = (start = 'well', options: Partial<StdioTransportOptions> = {}) =>
  transportOf('bad-server.ts', options, start);

const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

describe('a channel to a server made with the SDK', () => {
  it('initializes, calls, passes ids and errors, and stops the process', async () => {
    const channel = await sdk().open(ownerOf('s1'), never);
    expect(channel.facts).toMatchObject({
      revision: '2025-11-25',
      serverInfo: { name: 'fixture', version: '1.2.3' },
      instructions: 'hi',
      hasSession: true,
    });
    expect(channel.facts.capabilities).toHaveProperty('tools');
    const called = await callTool(channel, 'echo', { text: 'hé\nllo' });
    expect(called.reply?.id).toBe('client-1');
    expect(textOf(called)).toBe('hé\nllo');
    const unknown = await startCall(channel, { method: 'no/such', id: Buffer.from('7') }).outcome;
    expect(unknown.reply).toMatchObject({ id: 7, error: { code: -32601 } });

    const pid = Number(textOf(await callTool(channel, 'pid')));
    expect(isRunning(pid)).toBe(true);
    await channel.close();
    expect(channel.alive).toBe(false);
    expect(isRunning(pid)).toBe(false);
    await channel.close();
    expect((await callTool(channel, 'pid')).failure?.kind).toBe('unavailable');
  });

  it('sends pretty-printed params as one line', async () => {
    const channel = await sdk().open(ownerOf('s1'), never);
    const params = Buffer.from('{\r\n  "name": "echo",\n  "arguments": {"text": "a b"}\n}');
    expect(textOf(await startCall(channel, { method: 'tools/call', params }).outcome)).toBe('a b');
  });

  it('returns the matching answer to each of 200 parallel calls with one client id', async () => {
    const channel = await sdk().open(ownerOf('s1'), never);
    const texts = Array.from({ length: 200 }, (_, n) => `text ${String(n)}`);
    expect((await Promise.all(texts.map((text) => callTool(channel, 'echo', { text })))).map(textOf)).toEqual(texts);
  });

  it('maps progress tokens that two clients share to the call of each', async () => {
    const transport = sdk({ isolation: 'shared' });
    const [a, b] = await Promise.all(['a', 'b'].map((key) => transport.open(ownerOf(key), never)));
    const [first, second, bare] = await Promise.all([
      callTool(a!, 'progress', { steps: 3 }, { progressToken: 'same' }),
      callTool(b!, 'progress', { steps: 2 }, { progressToken: 'same' }),
      callTool(b!, 'progress', { steps: 1 }),
    ]);
    expect(first.messages.map(({ params }) => params)).toEqual(
      [1, 2, 3].map((progress) => ({ progressToken: 'same', progress })),
    );
    expect(second.messages).toHaveLength(2);
    expect(bare.messages).toEqual([]);
    expect(textOf(first)).not.toBe(textOf(second));
  });

  it('delivers messages of a call to that call and list_changed to the owner', async () => {
    const seen: string[] = [];
    const owner = ownerOf('s1', { onMessage: (_, { method }) => void seen.push(method ?? '') });
    const channel = await sdk().open(owner, never);
    expect((await callTool(channel, 'log')).messages).toMatchObject([{ params: { data: 'from the tool' } }]);
    await callTool(channel, 'grow');
    await vi.waitFor(() => expect(seen).toEqual(['notifications/tools/list_changed']), 10_000);
  });

  it('relays a request of the backend to the call and the answer back', async () => {
    const channel = await sdk().open(ownerOf('s1'), never);
    const { outcome } = startCall(channel, { method: 'tools/call', params: toolParams('ask') }, (message) => {
      const { id } = JSON.parse(message.toString()) as { id: number };
      channel.send(Buffer.from(`{"jsonrpc":"2.0","id":${String(id)},"result":{"action":"decline"}}`));
    });
    expect(textOf(await outcome)).toBe('decline');
    expect((await outcome).messages).toMatchObject([{ method: 'elicitation/create' }]);
  });

  it('notifies the backend of cancelled and timed out calls', async () => {
    const channel = await sdk().open(ownerOf('s1'), never);
    const params = toolParams('wait', { ms: 60_000 });
    const cancelled = startCall(channel, { method: 'tools/call', params });
    cancelled.handle.cancel('client went away');
    cancelled.handle.cancel('twice');
    expect((await cancelled.outcome).failure).toEqual({ kind: 'cancelled', detail: 'client went away' });
    const late = await startCall(channel, { method: 'tools/call', params, timeoutMs: 50 }).outcome;
    expect(late.failure?.kind).toBe('timeout');
    await vi.waitFor(
      () => expect(lines.filter((line) => JSON.stringify(line).includes('wait was cancelled'))).toHaveLength(2),
      10_000,
    );
    expect(textOf(await callTool(channel, 'echo', { text: 'still there' }))).toBe('still there');
  });
});

describe('isolation', () => {
  const pids = async (transport: StdioTransport, owners: Parameters<StdioTransport['open']>[0][]) => {
    const channels = await Promise.all(owners.map((owner) => transport.open(owner, never)));
    return Promise.all(channels.map(async (channel) => textOf(await callTool(channel, 'pid'))));
  };

  it.each([
    ['session', [0, 1, 2, 3]],
    ['principal', [0, 0, 2, 3]],
    ['shared', [0, 0, 0, 0]],
  ] as const)('%s assigns processes to owners', async (isolation, expected) => {
    const owners = [
      ownerOf('s1', { principal: 'ann' }),
      ownerOf('s2', { principal: 'ann' }),
      ownerOf('s3', { principal: 'bob' }),
      ownerOf('s4'),
    ];
    const found = await pids(sdk({ isolation }), owners);
    expect(found.map((pid) => found.indexOf(pid))).toEqual(expected);
  });

  it.each([
    ['session', ['elicitation', 'roots', 'sampling']],
    ['principal', []],
    ['shared', []],
  ] as const)('%s offers the features of a single client: %j', async (isolation, expected) => {
    const channel = await sdk({ isolation }).open(ownerOf('s1'), never);
    const offered = JSON.parse(textOf(await callTool(channel, 'capabilities')) ?? '') as object;
    expect(Object.keys(offered).sort()).toEqual(expected);
  });

  it('keeps a shared process when one of its channels is closed', async () => {
    const transport = sdk({ isolation: 'shared' });
    const [a, b] = [await transport.open(ownerOf('a'), never), await transport.open(ownerOf('b'), never)];
    const running = startCall(a, { method: 'tools/call', params: toolParams('wait', { ms: 60_000 }) });
    await a.close();
    expect((await running.outcome).failure?.kind).toBe('cancelled');
    expect(b.alive).toBe(true);
    expect(textOf(await callTool(b, 'echo', { text: 'x' }))).toBe('x');
  });

  it('rejects requests of a shared process, whose client is unknown', async () => {
    const transport = sdk({ isolation: 'shared' });
    const channel = await transport.open(ownerOf('a'), never);
    const outcome = await callTool(channel, 'ask');
    expect(outcome.messages).toEqual([]);
    expect(JSON.stringify(outcome.reply)).toMatch(/elicitation|Method not found/);
  });

  it('rejects a process over the limit, unless an unused one can be stopped', async () => {
    const transport = sdk({ isolation: 'principal', maxProcesses: 2 });
    const ann = await transport.open(ownerOf('1', { principal: 'ann' }), never);
    await transport.open(ownerOf('2', { principal: 'bob' }), never);
    const refused = await failureOf(transport.open(ownerOf('3', { principal: 'cy' }), never));
    expect(refused).toMatchObject({ kind: 'unavailable', detail: expect.stringContaining('max_processes') as string });
    const pid = Number(textOf(await callTool(ann, 'pid')));
    await ann.close();
    expect(isRunning(pid)).toBe(true);
    const cy = await transport.open(ownerOf('3', { principal: 'cy' }), never);
    expect(isRunning(pid)).toBe(false);
    expect(textOf(await callTool(cy, 'echo', { text: 'x' }))).toBe('x');
  });

  it('leaves a fifth of the processes of sessions to other principals', async () => {
    const transport = sdk({ isolation: 'session', maxProcesses: 3 });
    const refused: string[] = [];
    const account = new Account('ann', createBudgets(), (budget) => void refused.push(budget));
    const own = await transport.open(ownerOf('1', { principal: 'ann', account }), never);
    await transport.open(ownerOf('2', { principal: 'ann', account }), never);
    const failure = await failureOf(transport.open(ownerOf('3', { principal: 'ann', account }), never));
    expect(failure).toMatchObject({ kind: 'overloaded', budget: 'processes', retryAfterSeconds: 1 });
    expect(refused).toEqual(['processes']);
    const bob = await transport.open(ownerOf('4', { principal: 'bob' }), never);
    expect(textOf(await callTool(bob, 'echo', { text: 'x' }))).toBe('x');
    await own.close();
    expect((await transport.open(ownerOf('3', { principal: 'ann', account }), never)).alive).toBe(true);
  });

  it('lets anonymous sessions have every process', async () => {
    const transport = sdk({ isolation: 'session', maxProcesses: 2 });
    for (const key of ['1', '2'])
      expect((await transport.open(ownerOf(key, { principal: 'anonymous' }), never)).alive).toBe(true);
  });

  it('stops a process without calls for the idle time, not one with a running call', async () => {
    const transport = sdk({ isolation: 'session', idleMs: 300, now: () => performance.now() });
    const [idle, busy] = [await transport.open(ownerOf('a'), never), await transport.open(ownerOf('b'), never)];
    const running = startCall(busy, { method: 'tools/call', params: toolParams('wait', { ms: 1_200 }) });
    await vi.waitFor(() => expect(idle.alive).toBe(false), 10_000);
    expect(busy.alive).toBe(true);
    expect(textOf(await running.outcome)).toBe('waited');
    expect(textOf(await callTool(await transport.open(ownerOf('a'), never), 'echo', { text: 'new' }))).toBe('new');
  });
});

describe('a channel to a faulty server', () => {
  it('skips output that is not JSON and limits its log lines', async () => {
    const channel = await bad().open(ownerOf('s1'), never);
    expect((await callTool(channel, 'garbage')).reply?.result).toEqual({ text: 'after garbage' });
    const logged = lines.filter(({ message }) => message === 'backend sent a message that is not JSON-RPC');
    expect(logged.map(({ count }) => count)).toEqual([1, 2, 4, 8, 16, 32]);
  });

  it('ignores replies with a wrong id and repeated ones', async () => {
    const channel = await bad().open(ownerOf('s1'), never);
    expect((await callTool(channel, 'wrong-id')).reply).toMatchObject({ id: 'client-1', result: { text: 'right' } });
    expect((await callTool(channel, 'early')).reply?.result).toEqual({ text: 'late' });
  });

  it('handles notifications before the reply, batches, errors with data, and ping', async () => {
    const seen: string[] = [];
    const channel = await bad().open(
      ownerOf('s1', { onMessage: (_, { method }) => void seen.push(method ?? '') }),
      never,
    );
    expect((await callTool(channel, 'early')).messages).toMatchObject([{ method: 'notifications/message' }]);
    expect(seen).toEqual(['notifications/tools/list_changed']);
    expect(await callTool(channel, 'batch')).toMatchObject({
      reply: { result: { text: 'in a batch' } },
      messages: [{}],
    });
    const { reply } = await callTool(channel, 'error');
    expect(reply?.error).toEqual({ code: -32002, message: 'gone', data: { big: '12345678901234567890' } });
    expect((await callTool(channel, 'ping')).reply?.result).toEqual({
      text: '{"jsonrpc":"2.0","id":"p-1","result":{}}',
    });
  });

  it('fails a call whose reply is not JSON-RPC at once', async () => {
    const channel = await bad().open(ownerOf('s1'), never);
    expect((await callTool(channel, 'not-rpc')).failure?.kind).toBe('garbage');
    expect(channel.alive).toBe(true);
  });

  it('fails calls at a crash, waits 1, 2, 4 s before the next start, and resets after a minute of running', async () => {
    const transport = bad();
    for (const seconds of [1, 2, 4]) {
      const channel = await transport.open(ownerOf('s1'), never);
      const [hanging, crashed] = await Promise.all([callTool(channel, 'hang'), callTool(channel, 'crash')]);
      expect(hanging.failure).toEqual({ kind: 'unavailable', detail: 'the process ended with code 3' });
      expect(crashed.failure?.kind).toBe('unavailable');
      expect(channel.alive).toBe(false);
      await sleep(0);
      const refused = await failureOf(transport.open(ownerOf('s1'), never));
      expect(refused).toMatchObject({ kind: 'unavailable', retryAfterSeconds: seconds });
      await expect(transport.open(ownerOf('s2'), never)).resolves.toMatchObject({ alive: true });
      nowMs += seconds * 1_000;
    }
    const channel = await transport.open(ownerOf('s1'), never);
    nowMs += 61_000;
    await callTool(channel, 'crash');
    await sleep(0);
    expect((await failureOf(transport.open(ownerOf('s1'), never))).retryAfterSeconds).toBe(1);
  });

  describe('with a limit of restarts', () => {
    const restarts = { maxRestarts: 10, stableMs: 30_000, pauseMs: () => 0 };
    const discovery = ownerOf(DISCOVERY);

    it('counts a process that ends before it is ready, with its exit code, and gives up after ten restarts', async () => {
      const transport = bad('die', { restarts });
      expect(transport.restart?.()).toBeUndefined();
      for (let number = 1; number <= 10; number += 1) {
        await failureOf(transport.open(discovery, never));
        const exit = { code: 7, signal: null };
        expect(transport.restart?.()).toEqual({ number, last: 10, exit, problem: undefined, isOpen: false });
      }
      await failureOf(transport.open(discovery, never));
      const problem = { reason: 'CrashLoop', permanent: true };
      expect(transport.restart?.()).toMatchObject({ problem });
      const started = pids.length;
      expect((await failureOf(transport.open(discovery, never))).launch).toMatchObject(problem);
      expect(pids).toHaveLength(started);
    });

    it('shows a restart until the process has run for 30 s, and does not count processes of clients', async () => {
      const transport = bad('well', { restarts });
      const client = await transport.open(ownerOf('s1'), never);
      await callTool(client, 'crash');
      expect(transport.restart?.()).toBeUndefined();
      const own = await transport.open(discovery, never);
      await callTool(own, 'crash');
      await vi.waitFor(() =>
        expect(transport.restart?.()).toMatchObject({ number: 1, exit: { code: 3 }, isOpen: false }),
      );
      await transport.open(discovery, never);
      expect(transport.restart?.()).toMatchObject({ number: 1, isOpen: true });
      nowMs += 30_000;
      expect(transport.restart?.()).toBeUndefined();
    });
  });

  it('delivers a reply that is written just before the exit', async () => {
    const channel = await bad().open(ownerOf('s1'), never);
    expect((await callTool(channel, 'reply-and-exit')).reply?.result).toEqual({ text: 'last words' });
    await vi.waitFor(() => expect(channel.alive).toBe(false), 10_000);
  });

  it('times out a hung call and keeps the process', async () => {
    const channel = await bad().open(ownerOf('s1'), never);
    const params = toolParams('hang');
    const { failure } = await startCall(channel, { method: 'tools/call', params, timeoutMs: 50 }).outcome;
    expect(failure?.kind).toBe('timeout');
    expect((await callTool(channel, 'early')).reply?.result).toEqual({ text: 'late' });
  });

  it('fails the call with too_large and restarts the process when a message exceeds the limit', async () => {
    const transport = bad('well', { maxMessageBytes: 1 << 20 });
    const channel = await transport.open(ownerOf('s1'), never);
    expect((await callTool(channel, 'huge')).failure?.kind).toBe('too_large');
    expect(channel.alive).toBe(false);
    expect((await failureOf(transport.open(ownerOf('s1'), never))).kind).toBe('unavailable');
    await vi.waitFor(async () => {
      nowMs += 1_000;
      const again = await transport.open(ownerOf('s1'), never);
      expect((await callTool(again, 'early')).reply?.result).toEqual({ text: 'late' });
    }, 5_000);
  });

  it('fails calls when the process does not read them, and buffers no more than the limit', async () => {
    const channel = await bad('well', { maxMessageBytes: 1 << 20 }).open(ownerOf('s1'), never);
    startCall(channel, { method: 'tools/call', params: toolParams('stop-reading') });
    await sleep(100);
    const filler = { text: 'x'.repeat(300 << 10) };
    const calls = Array.from({ length: 8 }, () =>
      startCall(channel, { method: 'tools/call', params: toolParams('hang', filler), timeoutMs: 500 }),
    );
    const kinds = await Promise.all(calls.map(async ({ outcome }) => (await outcome).failure?.kind));
    expect(kinds.filter((kind) => kind === 'unavailable').length).toBeGreaterThanOrEqual(3);
    expect(kinds).toContain('timeout');
  });

  it.each([
    ['die', 'unavailable', /with code 7/],
    ['refuse', 'garbage', /refused to initialize/],
    ['future', 'garbage', /2099-01-01/],
    ['mute', 'timeout', /no complete reply/],
    ['babble', 'garbage', /no MCP messages/],
  ])('fails the opening (%s) as %s and delays every key when it does not start', async (start, kind, detail) => {
    const initTimeoutMs = { mute: 700, babble: 3_000 }[start] ?? 10_000; // the process must run long enough to write
    const transport = bad(start, { initTimeoutMs });
    const failure = await failureOf(transport.open(ownerOf('s1'), never));
    expect(failure).toMatchObject({ kind, detail: expect.stringMatching(detail) as string });
    expect((await failureOf(transport.open(ownerOf('s2'), never))).retryAfterSeconds).toBe(1);
  });

  it('may use an older revision', async () => {
    expect((await bad('old').open(ownerOf('s1'), never)).facts.revision).toBe('2024-11-05');
  });

  it('may be of the revision without sessions, whatever the code with which it rejects initialize', async () => {
    expect((await bad('new').open(ownerOf('s1'), never)).facts.revision).toBe('2026-07-28');
  });

  it('is unavailable when it cannot be executed', async () => {
    const command = () => Promise.resolve({ file: '/no/such/program', args: [], env: {}, envFiles: {} });
    expect((await failureOf(bad('', { command }).open(ownerOf('s1'), never))).kind).toBe('unavailable');
  });
});

describe('opening', () => {
  it('is shared by concurrent callers, one of which may cancel', async () => {
    const transport = sdk({ isolation: 'shared' });
    const impatient = new AbortController();
    const gone = failureOf(transport.open(ownerOf('a'), impatient.signal));
    const stays = transport.open(ownerOf('b'), never);
    impatient.abort();
    expect((await gone).kind).toBe('cancelled');
    expect(textOf(await callTool(await stays, 'echo', { text: 'x' }))).toBe('x');
  });

  it('times out when it takes longer than its owner waits, and leaves no process', async () => {
    const transport = bad('mute');
    expect((await failureOf(transport.open(ownerOf('a'), AbortSignal.timeout(100)))).kind).toBe('timeout');
    expect(pids.filter(isRunning)).toHaveLength(1);
    await transport.close();
    expect(pids.filter(isRunning)).toEqual([]);
    expect((await failureOf(transport.open(ownerOf('a'), never))).detail).toMatch(/shut down/);
  });
});
