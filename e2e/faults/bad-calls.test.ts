import { beforeAll, describe, expect, it } from 'vitest';
import { initializeRequest, MCP_HEADERS, openSession, raw, rpc, rpcReply, textOf } from '../harness/clients/raw.ts';
import type { RawSession } from '../harness/clients/raw.ts';
import { entry, gatewayOver } from '../harness/manifests.ts';
import { eventually } from '../harness/poll.ts';
import { blockScope } from '../harness/scope.ts';
import { startVmcp, type Vmcp } from '../harness/vmcp.ts';
import { callKinds, CANARY } from './call-kinds.ts';
import { measureBeside } from './healthy-load.ts';
import { startMcpServer, type McpServer } from './mcp-server.ts';

const HEALTHY = ['good-1_tool', 'good-2_tool'];
/** Timeout of calls to the bad backend. */
const TIMEOUT_MS = 1_000;
/** High, because the machine may be busy. */
const SLACK_MS = 3_000;
/** Generous: the bad backend, the healthy ones and the clients share one process here. `make bench` (W7) measures exactly. */
const P99_SLACK_MS = 750;
const MOST_GROWN_MB = 128;

const quiet = () => new Promise((resolve) => setTimeout(resolve, 1_500));
const scope = blockScope();
let [vmcp, session, bad, trap]: [Vmcp?, RawSession?, McpServer?, McpServer?] = [];
let baselineMs = 0;

const running = () => {
  if (!vmcp || !session || !bad || !trap) throw new Error('not started');
  return { vmcp, session, bad, trap };
};

beforeAll(async () => {
  const start = (name: string) => startMcpServer(scope, name);
  const [one, two] = await Promise.all([start('good-1'), start('good-2')]);
  [bad, trap] = await Promise.all([start('bad'), start('trap')]);
  const backends = [entry('good-1', one.url), entry('good-2', two.url), entry('bad', bad.url)];
  const operational = { timeouts: { default: '20s', perWorkload: { bad: '1s' } } };
  vmcp = await startVmcp(scope, { files: gatewayOver(backends, { operational }) });
  session = await openSession(vmcp.url);
  for (const tool of [...HEALTHY, 'bad_tool']) await session.call(tool, { text: 'warm' });
  await measureBeside(vmcp.pid, session, HEALTHY, quiet);
  baselineMs = (await measureBeside(vmcp.pid, session, HEALTHY, quiet)).p99Ms;
});

interface Ending {
  /** All text that the client received. */
  readonly body: string;
  /** The error text for the user. */
  readonly text: string;
  readonly ms: number;
}

/** Calls the bad backend and returns the outcome for the client. */
async function badCall({ session: { post }, id }: { session: RawSession; id: number }): Promise<Ending> {
  const began = performance.now();
  const body = rpc('tools/call', { name: 'bad_tool', arguments: { text: 'usual' } }, id);
  const ending = await post(body).then(
    (response) => ({ body: response.body, text: textOf(rpcReply(response)) }),
    () => ({ body: '', text: 'cut' }),
  );
  return { ...ending, ms: performance.now() - began };
}

async function initializeMs(url: string): Promise<number> {
  const began = performance.now();
  const { status } = await raw(url, { method: 'POST', headers: MCP_HEADERS, body: initializeRequest() });
  expect(status).toBe(200);
  return performance.now() - began;
}

describe('beside two healthy backends, a backend that in a call', () => {
  it.each(callKinds(() => running().trap.url))('$name fails only that call', async (kind) => {
    const { vmcp, session, bad, trap } = running();
    bad.intercept = (exchange) => {
      if (exchange.message.method !== 'tools/call') return false;
      kind.act(exchange);
      return true;
    };
    const ids = Array.from({ length: kind.atOnce ?? 3 }, (_, index) => 1_000 + index);
    const beside = await measureBeside(vmcp.pid, session, HEALTHY, async () => {
      const calls = Promise.all(ids.map((id) => badCall({ session, id })));
      return { initialize: await initializeMs(vmcp.url), endings: await calls };
    });
    bad.intercept = undefined;

    const { endings, initialize } = beside.value;
    expect(endings.filter(({ text }) => !kind.says.test(text))).toEqual([]);
    expect(endings.filter(({ body }) => body.includes(CANARY))).toEqual([]);
    expect(endings.filter(({ ms }) => ms > TIMEOUT_MS + SLACK_MS)).toEqual([]);
    expect(initialize).toBeLessThan(1_000);
    expect(beside.wrong).toEqual([]);
    const isSlow = beside.p99Ms > 1.5 * baselineMs + P99_SLACK_MS;
    // a machine that became busier is slow without the bad backend too
    const quietMs = isSlow ? (await measureBeside(vmcp.pid, session, HEALTHY, quiet)).p99Ms : baselineMs;
    expect(beside.p99Ms).toBeLessThanOrEqual(1.5 * quietMs + P99_SLACK_MS);
    expect(beside.grownMb).toBeLessThan(MOST_GROWN_MB);
    expect(trap.seen).toEqual([]);
    expect(textOf(await session.call('bad_tool', { text: 'again' }))).toBe('tool again');
    await eventually('no request is left at the bad backend', () => bad.running() === bad.streams.size);
  });
});

it('no part of a bad reply is in the log', () => {
  expect(running().vmcp.output()).not.toContain(CANARY);
});
