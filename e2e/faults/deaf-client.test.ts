import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { openSession, textOf } from '../harness/clients/raw.ts';
import { entry, gatewayOver } from '../harness/manifests.ts';
import { eventually } from '../harness/poll.ts';
import { testScope } from '../harness/scope.ts';
import { startVmcp } from '../harness/vmcp.ts';
import { openGet, openPost } from './event-stream.ts';
import { measureBeside } from './healthy-load.ts';
import { eventText, startMcpServer, type Exchange } from './mcp-server.ts';

const MESSAGE = eventText({ method: 'notifications/message', params: { level: 'info', data: 'x'.repeat(256 * 1024) } });
/** Bytes that the bad backend tries to send: far more than the gateway may buffer. */
const FLOOD_BYTES = 400 * 1024 * 1024;
/** Limit for the growth of memory: the buffer for a client that does not read, and garbage that is not collected yet. */
const MOST_GROWN_MB = 220;

/** Sends `FLOOD_BYTES` as fast as the gateway reads them. */
async function flood({ res }: Pick<Exchange, 'res'>): Promise<void> {
  for (let sent = 0; sent < FLOOD_BYTES && !res.destroyed; sent += MESSAGE.length) {
    if (res.write(MESSAGE)) continue;
    await Promise.race([new Promise((resolve) => res.once('drain', resolve)), sleep(5_000)]);
  }
}

it.each(['in a call', 'outside of calls'])(
  'an endless stream of a backend (%s) to a client that does not read uses bounded memory',
  async (where) => {
    const scope = testScope();
    const [bad, good] = [await startMcpServer(scope, 'bad'), await startMcpServer(scope, 'good')];
    const operational = { timeouts: { default: '20s', perWorkload: { bad: '5s' } } };
    const files = gatewayOver([entry('bad', bad.url), entry('good', good.url)], { operational });
    const vmcp = await startVmcp(scope, { files });
    const [deaf, other] = [await openSession(vmcp.url), await openSession(vmcp.url)];
    const stream = await openGet(vmcp.url, deaf);
    await deaf.call('bad_tool');
    await other.call('good_tool');
    await eventually('the backend has two streams', () => bad.streams.size === 2);
    stream.pause();
    const beside = await measureBeside(vmcp.pid, other, ['good_tool'], async () => {
      if (where === 'outside of calls') {
        await Promise.all([...bad.streams.values()].map((res) => flood({ res })));
        return;
      }
      let flooded: Promise<void> | undefined;
      bad.intercept = (exchange) => {
        if (exchange.message.method !== 'tools/call') return false;
        exchange.res.writeHead(200, { 'content-type': 'text/event-stream' });
        flooded = flood(exchange);
        return true;
      };
      const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'bad_tool', arguments: {} } };
      const answer = await openPost(vmcp.url, deaf, call);
      answer.pause();
      await eventually('the backend has begun', () => flooded !== undefined);
      await flooded;
      answer.drop();
    });
    expect(beside.wrong).toEqual([]);
    expect(beside.grownMb).toBeLessThan(MOST_GROWN_MB);
    bad.intercept = undefined;
    expect(textOf(await other.call('bad_tool', { text: 'x' }))).toBe('tool x');
  },
);
