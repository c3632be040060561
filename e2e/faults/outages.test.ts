import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import {
  initializeRequest,
  MCP_HEADERS,
  openSession,
  raw,
  textOf,
  type RawSession,
  type RpcReply,
} from '../harness/clients/raw.ts';
import { entry, gatewayOver } from '../harness/manifests.ts';
import { eventually } from '../harness/poll.ts';
import { printOnFailure, testScope } from '../harness/scope.ts';
import { startVmcp, type Vmcp } from '../harness/vmcp.ts';
import { usage } from '../bench/usage.ts';
import { CANARY } from './call-kinds.ts';
import { openGet, type Received } from './event-stream.ts';
import { measureBeside } from './healthy-load.ts';
import { jsonHead, startMcpServer, type Exchange, type McpServer } from './mcp-server.ts';
import { neverEndingLists } from './never-ending-lists.ts';

const LIST_CHANGED = 'notifications/tools/list_changed';
const operational = {
  timeouts: { default: '20s', perWorkload: { bad: '1s' } },
  failureHandling: { healthCheckInterval: '500ms', healthCheckTimeout: '1s', unhealthyThreshold: 2 },
};

/** Faults of a backend that apply to every request. */
const BROKEN: Readonly<Record<string, (exchange: Exchange) => void>> = {
  hangs: () => undefined,
  'sends headers and then nothing': ({ res }) => {
    jsonHead(res).flushHeaders();
  },
  'resets every connection': ({ req }) => void req.socket.resetAndDestroy(),
  'answers 500': ({ res }) => void res.writeHead(500, { 'content-type': 'text/plain' }).end(CANARY),
  'answers 401': ({ res }) => void res.writeHead(401, { 'content-type': 'text/plain' }).end(CANARY),
  'answers garbage': ({ res }) => void jsonHead(res).end(`<${CANARY}`),
  'answers other ids': ({ res }) => void jsonHead(res).end('{"jsonrpc":"2.0","id":"other","result":{}}'),
  redirects: ({ res }) => void res.writeHead(302, { location: 'http://127.0.0.1:9/' }).end(),
  'knows no session any more': ({ res }) => void res.writeHead(404).end(),
};

const OUTAGES = Object.entries(BROKEN).map(([name, act]): [string, NonNullable<McpServer['intercept']>] => [
  name,
  (exchange) => {
    act(exchange);
    return true;
  },
]);

interface Setup {
  readonly vmcp: Vmcp;
  readonly session: RawSession;
  readonly bad: McpServer;
  readonly stream: Received;
  readonly listed: () => Promise<string[]>;
  /** Number of list changes that the client has received. */
  readonly changes: number;
}

/** Starts two healthy backends, one that will break, and a client with a stream. */
async function setup(): Promise<Setup> {
  const scope = testScope();
  const start = (name: string) => startMcpServer(scope, name);
  const [one, two, bad] = await Promise.all([start('good-1'), start('good-2'), start('bad')]);
  const backends = [entry('good-1', one.url), entry('good-2', two.url), entry('bad', bad.url)];
  const vmcp = await startVmcp(scope, { files: gatewayOver(backends, { operational }) });
  printOnFailure(vmcp.output);
  const session = await openSession(vmcp.url);
  const listed = () => session.tools();
  const all = ['bad_tool', 'good-1_tool', 'good-2_tool'];
  await eventually('all are listed', async () => isDeepStrictEqual(await listed(), all));
  const stream = await openGet(vmcp.url, session);
  expect(textOf(await session.call('bad_tool', { text: 'before' }))).toBe('tool before');
  return { vmcp, session, bad, stream, listed, changes: changesOf(stream) };
}

const changesOf = (stream: Received): number => stream.methods().filter((method) => method === LIST_CHANGED).length;

async function untilRemoved({ stream, listed, changes }: Setup): Promise<void> {
  await eventually('the client is notified of the removed tool', () => changesOf(stream) > changes);
  expect(await listed()).toEqual(['good-1_tool', 'good-2_tool']);
}

async function untilRestored({ session, stream, listed }: Setup, changes: number): Promise<void> {
  await eventually('the client is notified of the restored tool', () => changesOf(stream) > changes);
  expect(await listed()).toContain('bad_tool');
  await eventually('calls work again', async () => {
    return textOf(await session.call('bad_tool', { text: 'after' })) === 'tool after';
  });
}

/** Expects a tool error, or an unknown tool when a slow machine has given the probes time to remove it. */
function expectFailed({ result, error }: RpcReply): void {
  expect(result ?? error?.code).toEqual(result ? expect.objectContaining({ isError: true }) : -32602);
}

/** Returns the fastest of three: a delay by a backend would affect each. */
async function quickestInitialize({ url }: Vmcp): Promise<number> {
  let quickest = Infinity;
  for (let times = 0; times < 3; times += 1) {
    const began = performance.now();
    await raw(url, { method: 'POST', headers: MCP_HEADERS, body: initializeRequest() });
    quickest = Math.min(quickest, performance.now() - began);
  }
  return quickest;
}

describe.concurrent('a backend that suddenly', () => {
  it.each(OUTAGES)('%s is announced as removed and as restored', async (_name, act) => {
    const all = await setup();
    const { vmcp, session, bad, stream } = all;
    bad.intercept = act;
    const beside = await measureBeside(vmcp.pid, session, ['good-1_tool', 'good-2_tool'], async () => {
      const failed = await session.call('bad_tool', { text: 'x' });
      expectFailed(failed);
      await untilRemoved(all);
      return { initializeMs: await quickestInitialize(vmcp), failed: failed.text };
    });
    expect(beside.wrong).toEqual([]);
    expect(beside.value.initializeMs).toBeLessThan(1_000);
    expect(beside.value.failed).not.toContain(CANARY);
    const changes = changesOf(stream);
    bad.intercept = undefined;
    await untilRestored(all, changes);
  });

  it('crashes is announced as removed and as restored', async () => {
    const all = await setup();
    await all.bad.crash();
    expectFailed(await all.session.call('bad_tool'));
    await untilRemoved(all);
    const changes = changesOf(all.stream);
    await all.bad.recover();
    await untilRestored(all, changes);
  });

  it('crashes and recovers repeatedly does not affect the others and works in the end', async () => {
    const all = await setup();
    const { vmcp, session, bad } = all;
    const beside = await measureBeside(vmcp.pid, session, ['good-1_tool', 'good-2_tool'], async () => {
      for (let round = 0; round < 5; round += 1) {
        await bad.crash();
        expectFailed(await session.call('bad_tool'));
        await bad.recover();
        await session.call('bad_tool');
      }
    });
    expect(beside.wrong).toEqual([]);
    expect(beside.grownMb).toBeLessThan(64);
    await eventually('it is listed and works', async () => {
      const tools = await all.listed();
      return tools.includes('bad_tool') && textOf(await session.call('bad_tool', { text: 'x' })) === 'tool x';
    });
  });
});

describe('backends with a fault from the start', () => {
  const timeout = 180_000;
  it(
    'do not delay initialize, are omitted from the list, and are announced when they recover',
    { timeout },
    async () => {
      const scope = testScope();
      const good = await startMcpServer(scope, 'good');
      const bad = new Map<string, McpServer>();
      for (const [index, [, act]] of [...OUTAGES, ...neverEndingLists].entries()) {
        const server = await startMcpServer(scope, `bad-${String(index)}`);
        server.intercept = act;
        bad.set(`bad-${String(index)}`, server);
      }
      const backends = [...bad].map(([name, { url }]) => entry(name, url));
      const short = { ...operational, timeouts: { default: '2s' } };
      const files = gatewayOver([...backends, entry('good', good.url)], { operational: short });
      const vmcp = await startVmcp(scope, { files });
      const before = usage(vmcp.pid)?.rssMb ?? 0;

      const began = performance.now();
      const session = await openSession(vmcp.url);
      expect(performance.now() - began).toBeLessThan(1_900);
      const stream = await openGet(vmcp.url, session);
      const tools = await session.tools();
      expect(performance.now() - began).toBeLessThan(6_000);
      expect(tools).toContain('good_tool');
      expect(textOf(await session.call('good_tool', { text: 'x' }))).toBe('tool x');
      await new Promise((resolve) => setTimeout(resolve, 2_000));
      expect((usage(vmcp.pid)?.rssMb ?? 0) - before).toBeLessThan(256);

      const changes = changesOf(stream);
      for (const server of bad.values()) server.intercept = undefined;
      const expected = [...bad.keys(), 'good'].map((name) => `${name}_tool`).sort();
      const allAreListed = async () => {
        // A list that was being read may mix the endless pages with the last one: until its stream is open, nobody says so.
        for (const server of bad.values()) server.notify(LIST_CHANGED);
        expect(await session.tools()).toEqual(expected);
        return true;
      };
      await eventually('all are listed', allAreListed, { timeoutMs: 90_000, intervalMs: 500 });
      await eventually('the client is notified', () => changesOf(stream) > changes);
      for (const name of bad.keys()) expect(textOf(await session.call(`${name}_tool`, { text: 'x' }))).toBe('tool x');
    },
  );
});
