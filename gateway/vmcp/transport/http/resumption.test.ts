import { setTimeout as sleep } from 'node:timers/promises';
import type { ServerResponse } from 'node:http';
import { expect, it } from 'vitest';
import { eventText, startMcpServer } from '../../../../e2e/faults/mcp-server.ts';
import { testScope } from '../../../../e2e/harness/scope.ts';
import { createLog } from '../../../telemetry/log.ts';
import { httpTransport } from './http-transport.ts';
import { ownerOf, startCall, textOf } from '../testdata/calls.ts';

const TOOL_MS = 100;

/**
 * Starts a backend that primes the stream of a call and closes it, as SDK 1.29 does. The reply goes to the GET that is
 * open when the tool finishes, and is lost when none is. `refusals` are the statuses of the first GETs.
 */
async function open(retryMs: number, refusals: readonly number[] = []) {
  const server = await startMcpServer(testScope(), 'raw');
  const transport = httpTransport({
    url: new URL(server.url),
    clientInfo: { name: 'test', version: '0' },
    headers: {},
    maxReplyBytes: 1_000_000,
    initTimeoutMs: 5_000,
    log: createLog(process.stderr, 'error'),
  });
  testScope().defer(() => transport.close());
  const channel = await transport.open(ownerOf('k'), AbortSignal.timeout(10_000));
  const resumed: { readonly id: unknown; readonly afterMs: number }[] = [];
  const refused = [...refusals];
  let closedAt = 0;
  let stream: ServerResponse | undefined;
  server.interceptGet = (req, res) => {
    resumed.push({ id: req.headers['last-event-id'], afterMs: performance.now() - closedAt });
    const status = refused.shift();
    if (status !== undefined) res.writeHead(status).end();
    else (stream = res).writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    return true;
  };
  server.intercept = ({ message: { method, id }, res }) => {
    if (method !== 'tools/call') return false;
    const priming = `id: a::1_b\nretry: ${String(retryMs)}\ndata: \n\n`;
    res.writeHead(200, { 'content-type': 'text/event-stream', 'content-length': priming.length }).end(priming);
    closedAt = performance.now();
    const result = { content: [{ type: 'text', text: 'resumed' }] };
    void sleep(TOOL_MS + (refusals.length > 0 ? retryMs : 0)).then(() =>
      stream?.write(`event: message\n${eventText({ id: id ?? 0, result }, 'a::2_c')}`),
    );
    return true;
  };
  const call = startCall(channel, { method: 'tools/call', timeoutMs: 3_000 + retryMs });
  return { resumed, text: textOf(await call.outcome) };
}

/** @see MCP 2025-11-25, basic/transports, Sending Messages to the Server */
it('receives the reply of a backend that closes the stream, requests a long wait and does not store the reply', async () => {
  const { text, resumed } = await open(5_000);
  expect(text).toBe('resumed');
  expect(resumed).toEqual([{ id: 'a::1_b', afterMs: expect.any(Number) as number }]);
});

it.each([409, 503])(
  'waits for the requested time when the backend rejects an early resumption with %i',
  async (status) => {
    const { text, resumed } = await open(1_000, [status]);
    expect(text).toBe('resumed');
    expect(resumed.map(({ id }) => id)).toEqual(['a::1_b', 'a::1_b']);
    expect(resumed[1]?.afterMs).toBeGreaterThanOrEqual(990);
  },
);

it('waits for a short requested time', async () => {
  const { resumed } = await open(90);
  expect(resumed[0]?.afterMs).toBeGreaterThanOrEqual(85);
});
