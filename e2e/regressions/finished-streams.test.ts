import { setTimeout as sleep } from 'node:timers/promises';
import * as v2 from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { beforeAll, describe, expect, it } from 'vitest';
import { openGet, openPost } from '../faults/event-stream.ts';
import { argumentOf, startMcpServer, type Exchange } from '../faults/mcp-server.ts';
import { openSession, type RawSession } from '../harness/clients/raw.ts';
import { entry, gatewayOver } from '../harness/manifests.ts';
import { eventually } from '../harness/poll.ts';
import { blockScope, testScope } from '../harness/scope.ts';
import { startVmcp } from '../harness/vmcp.ts';
import { notify, post, rarely, toolCall } from './gateway.ts';

const LONG = 'x'.repeat(2_000_000);

/** Ends of a call whose reply is a stream, by the argument `text`. */
const ENDS: Readonly<Record<string, (exchange: Exchange) => void>> = {
  result: ({ result }) => {
    result({ content: [] });
  },
  error: ({ error }) => {
    error(-32010, 'failed');
  },
  'a long result': ({ result }) => {
    result({ content: [{ type: 'text', text: LONG }] });
  },
};

const scope = blockScope();
let url: string;
let session: RawSession;
/** Ends the latest call at the backend. */
let finish: () => void = () => undefined;

beforeAll(async () => {
  const backend = await startMcpServer(scope, 'one', {
    methods: {
      'tools/call': (exchange) => {
        exchange.send(notify('notifications/message', { level: 'info', data: 'begun' }));
        const end = ENDS[argumentOf(exchange.message.params, 'text')];
        finish = () => end?.(exchange);
      },
    },
  });
  const operational = { ...rarely, timeouts: { default: '1s' } };
  url = (await startVmcp(scope, { files: gatewayOver([entry('one', backend.url)], { operational }) })).url;
  session = await openSession(url);
});

/** Calls the tool, and waits for its stream to end. `onBegun` is called when the stream has begun. */
async function streamed(id: number, text: string, onBegun?: () => Promise<unknown>) {
  const call = await openPost(url, session, toolCall(id, 'one_tool', { text }));
  const begun = await eventually('the stream has begun', () => call.messages.length > 0 && call.lastEventId());
  await onBegun?.();
  finish();
  await eventually('the stream ends', () => call.ended());
  return { begun, last: call.lastEventId() ?? '', messages: call.messages };
}

const cancel = (requestId: number) => post(url, session, notify('notifications/cancelled', { requestId }));

/** Resumes a stream, and returns what comes. */
async function resume(after: string) {
  const rest = await openGet(url, session, after);
  await eventually('the resumed stream ends', () => rest.ended());
  return { status: rest.status, messages: rest.messages, last: rest.lastEventId() ?? after };
}

/** @see HTML, Server-sent events: 204 ends the reconnections of a client */
describe('a client that resumes a stream after its last event gets 204', () => {
  it('of a call that it has cancelled', async () => {
    const { last, messages } = await streamed(11, 'nothing', () => cancel(11));
    expect(messages).toHaveLength(1);
    expect(await resume(last)).toEqual({ status: 204, messages: [], last });
  });

  it.each([
    ['a result', 12, 'result', { result: { content: [] } }],
    ['an error of the backend', 13, 'error', { error: { code: -32010 } }],
    ['a timeout', 14, 'nothing', { result: { isError: true } }],
  ])('of a call that ended with %s', async (_what, id, text, reply) => {
    const { begun, last, messages } = await streamed(id, text);
    expect(messages.at(-1)).toMatchObject({ id, ...reply });
    expect(await resume(begun)).toMatchObject({ status: 200, messages: [{ id, ...reply }], last });
    expect(await resume(last)).toEqual({ status: 204, messages: [], last });
  });
});

it('a client that resumes a stream whose reply is too long to be kept gets an error for its request', async () => {
  const { begun, messages } = await streamed(21, 'a long result');
  expect(messages.at(-1)).toMatchObject({ id: 21, result: { content: [{ text: LONG }] } });
  const rest = await resume(begun);
  expect(rest).toMatchObject({
    status: 200,
    messages: [{ id: 21, error: { code: -32603, data: { reason: 'reply_lost' } } }],
  });
  expect(await resume(rest.last)).toMatchObject({ status: 204, messages: [] });
});

it('a resumed stream without missed events has an id after which it can be resumed again', async () => {
  const call = await openPost(url, session, toolCall(31, 'one_tool', { text: 'nothing' }));
  await eventually('the stream has begun', () => call.messages.length > 0);
  const after = call.lastEventId() ?? '';
  call.drop();
  const rest = await openGet(url, session, after);
  await eventually('the id arrives', () => rest.lastEventId() === after);
  await cancel(31);
  await eventually('the stream ends', () => rest.ended());
  expect(rest.messages).toEqual([]);
  expect((await resume(after)).status).toBe(204);
});

describe('a client of the SDK sends no more requests after it has cancelled a streamed call', () => {
  const reconnectionOptions = {
    initialReconnectionDelay: 50,
    maxReconnectionDelay: 50,
    reconnectionDelayGrowFactor: 1,
    maxRetries: 2,
  };

  /** Counts the GETs of a client by status. */
  function counting() {
    const statuses: number[] = [];
    const counted: typeof fetch = async (input, init) => {
      const response = await fetch(input, init);
      if (init?.method === 'GET') statuses.push(response.status);
      return response;
    };
    return { statuses, options: { fetch: counted, reconnectionOptions } };
  }

  /** Starts a call, cancels it when its first message arrives, and returns the statuses of its GETs. */
  async function cancelled(
    statuses: readonly number[],
    call: (signal: AbortSignal) => Promise<unknown>,
  ): Promise<unknown> {
    const leave = new AbortController();
    const outcome = call(leave.signal).catch(() => 'cancelled');
    await sleep(300);
    leave.abort();
    expect(await outcome).toBe('cancelled');
    await sleep(600);
    return statuses;
  }

  const params = { name: 'one_tool', arguments: { text: 'nothing' } };

  it('1.x', async () => {
    const { statuses, options } = counting();
    const client = new Client({ name: 'sdk-1', version: '1.0.0' });
    await client.connect(new StreamableHTTPClientTransport(new URL(url), options));
    testScope().defer(() => client.close());
    const call = (signal: AbortSignal) => client.callTool(params, CallToolResultSchema, { signal });
    expect(await cancelled(statuses, call)).toEqual([200, 204]);
  });

  it('2.x', async () => {
    const { statuses, options } = counting();
    const client = new v2.Client({ name: 'sdk-2', version: '1.0.0' }, { versionNegotiation: { mode: 'legacy' } });
    await client.connect(new v2.StreamableHTTPClientTransport(new URL(url), options));
    testScope().defer(() => client.close());
    const call = (signal: AbortSignal) => client.callTool(params, { signal });
    expect([[200], [200, 204]]).toContainEqual(await cancelled(statuses, call));
  });
});
