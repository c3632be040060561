import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { Writable } from 'node:stream';
import { afterEach, describe, expect, it } from 'vitest';
import { createLog } from '../../../telemetry/log.ts';
import type { BackendFailure, Channel, ChannelOwner, Transport } from '../channel.ts';
import { httpTransport } from './http-transport.ts';
import { requestReply } from '../request-reply.ts';
import { failureOf } from '../testdata/failure-of.ts';

type Answer = (req: IncomingMessage, res: ServerResponse, message: { id?: number; method?: string }) => void;

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const json = (res: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void => {
  res.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
};

const initialized = (id: number | undefined): object => ({
  jsonrpc: '2.0',
  id,
  result: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'raw', version: '1' } },
});

/** Starts a backend on a real socket. It answers the handshake; `answer` serves all other messages. */
async function open(
  answer: Answer,
  options: { session?: string; seen?: string[]; limit?: number } = {},
): Promise<Channel> {
  const server: Server = createServer((req, res) => {
    void text(req).then((body) => {
      options.seen?.push(`${req.method ?? ''} ${String(req.headers['mcp-session-id'] ?? '-')} ${body}`);
      const message = (body === '' ? {} : JSON.parse(body)) as { id?: number; method?: string };
      const headers: Record<string, string> =
        options.session === undefined ? {} : { 'mcp-session-id': options.session };
      if (message.method === 'initialize') json(res, 200, initialized(message.id), headers);
      else if (message.id === undefined) res.writeHead(req.method === 'DELETE' ? 200 : 202).end();
      else answer(req, res, message);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const transport: Transport = httpTransport({
    url: new URL(`http://127.0.0.1:${String(port)}/mcp?x=1`),
    clientInfo: { name: 'test', version: '0' },
    headers: { 'x-static': 'yes' },
    maxReplyBytes: options.limit ?? 4_000_000,
    initTimeoutMs: 2_000,
    log: createLog(
      new Writable({
        write: (_chunk, _encoding, done) => {
          done();
        },
      }),
      'error',
    ),
  });
  cleanups.push(
    () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(resolve);
      }),
    () => transport.close(),
  );
  const owner: ChannelOwner = {
    key: 'k',
    capabilities: '{}',
    revision: '2025-11-25',
    onMessage: () => undefined,
  };
  return transport.open(owner, AbortSignal.timeout(2_000));
}

const call = (channel: Channel, timeoutMs = 2_000, onMessage?: (message: Buffer) => void): Promise<string> =>
  requestReply(
    (request, sink) => channel.request(request, sink),
    { method: 'tools/call', params: Buffer.from('{"name":"x","n":1e400}'), id: Buffer.from('"client-7"'), timeoutMs },
    onMessage ? { onMessage } : {},
  ).then(String);

describe('httpTransport', () => {
  it('runs the handshake once, keeps the session id and forwards params unchanged', async () => {
    const seen: string[] = [];
    const channel = await open(
      (_req, res, { id }) => {
        json(res, 200, { jsonrpc: '2.0', id, result: { ok: 1 } });
      },
      { session: 's1', seen },
    );
    expect(channel.facts).toMatchObject({ revision: '2025-06-18', hasSession: true, capabilities: { tools: {} } });
    expect(await call(channel)).toBe('{"jsonrpc":"2.0","id":"client-7","result":{"ok":1}}');
    await channel.close();
    expect(seen.map((line) => line.slice(0, 60))).toEqual([
      expect.stringContaining('POST - {"jsonrpc":"2.0","id":1,"method":"init'),
      expect.stringContaining('POST s1 {"jsonrpc":"2.0","method":"noti'),
      expect.stringContaining('POST s1 {"jsonrpc":"2.0","id":2,"method'),
      expect.stringContaining('DELETE s1 '),
    ]);
    expect(seen[2]).toContain('"params":{"name":"x","n":1e400}}');
  });

  it('receives a reply as events, and delivers the messages before it', async () => {
    const messages: string[] = [];
    const channel = await open((_req, res, { id }) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.write(
        'event: message\ndata: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}\n\n',
      );
      res.end(`id: 4\ndata: {"jsonrpc":"2.0",\ndata: "id":${String(id)},"result":{}}\n\n`);
    });
    expect(JSON.parse(await call(channel, 2_000, (message) => messages.push(message.toString())))).toEqual({
      jsonrpc: '2.0',
      id: 'client-7',
      result: {},
    });
    expect(messages).toEqual(['{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}']);
  });

  it('forwards a long reply once it is complete, with the id replaced', async () => {
    const long = 'x'.repeat(1_500_000);
    const channel = await open((_req, res, { id }) => {
      json(res, 200, { result: { text: long }, jsonrpc: '2.0', id });
    });
    expect(JSON.parse(await call(channel))).toEqual({ jsonrpc: '2.0', id: 'client-7', result: { text: long } });
  });

  const LONG = 'x'.repeat(300_000);
  const begin = (id: unknown): string => `{"jsonrpc":"2.0","id":${String(id)},"result":{"text":"${LONG}`;
  /** Ends of a reply over 256 KiB. */
  it.each<[string, string, (res: ServerResponse, id: number) => void]>([
    ['breaks off', 'unavailable', (res, id) => res.write(begin(id), () => res.destroy())],
    ['lacks its end', 'garbage', (res, id) => res.end(begin(id))],
    ['ends with another bracket', 'garbage', (res, id) => res.end(`${begin(id)}","a":[1}]}`)],
    ['has text behind its end', 'garbage', (res, id) => res.end(`${begin(id)}"}}{"jsonrpc":"2.0"}`)],
    ['contains no number', 'garbage', (res, id) => res.end(`${begin(id)}","a":NaN}}`)],
    ['is not UTF-8', 'garbage', (res, id) => res.end(Buffer.from(`${begin(id)}\u00ff"}}`, 'latin1'))],
    ['carries another id', 'garbage', (res, id) => res.end(`${begin(id + 1)}"}}`)],
    ['has a result and an error', 'garbage', (res, id) => res.end(`${begin(id)}"},"error":{"code":1,"message":""}}`)],
    ['has no result', 'garbage', (res, id) => res.end(`{"jsonrpc":"2.0","x":"${LONG}","id":${String(id)}}`)],
    ['passes the limit', 'too_large', (res, id) => res.end(begin(id) + LONG.repeat(14))],
  ])('fails only the call whose long reply %s', async (_name, kind, answer) => {
    let isBad = true;
    const channel = await open(
      (_req, res, { id = 0 }) => {
        if (!isBad) json(res, 200, { jsonrpc: '2.0', id, result: {} });
        else answer(res.writeHead(200, { 'content-type': 'application/json' }), id);
      },
      { session: 's' },
    );
    expect((await failureOf(call(channel))).kind).toBe(kind);
    isBad = false;
    expect(await call(channel)).toBe('{"jsonrpc":"2.0","id":"client-7","result":{}}');
  });

  it('counts a long reply while it is collected, and fails it when the budget is used up', async () => {
    const channel = await open((_req, res, { id }) => {
      json(res, 200, { jsonrpc: '2.0', id, result: { text: 'x'.repeat(3_000_000) } });
    });
    const counted: number[] = [];
    const failure = await new Promise<BackendFailure>((resolve, reject) => {
      channel.request(
        { method: 'tools/call', params: undefined, id: Buffer.from('1'), timeoutMs: 5_000 },
        {
          reply: () => {
            reject(new Error('the reply was not refused'));
          },
          collecting: (bytes) => {
            counted.push(bytes);
            return bytes < 1_000_000;
          },
          message: () => undefined,
          fail: resolve,
        },
      );
    });
    expect(failure).toMatchObject({ kind: 'overloaded', budget: 'reply_bytes' });
    expect(counted[0]).toBeGreaterThan(256 * 1024);
    expect(counted.at(-1)).toBeLessThan(1_100_000);
  });

  it.each<[string, string, Answer]>([
    [
      '500 with a body',
      'unavailable',
      (_req, res, { id }) => {
        json(res, 500, { jsonrpc: '2.0', id, error: { code: 1, message: 'secret-canary' } });
      },
    ],
    [
      '401',
      'unauthenticated',
      (_req, res) => {
        res.writeHead(401).end();
      },
    ],
    [
      'a redirect',
      'garbage',
      (_req, res) => {
        res.writeHead(302, { location: 'http://127.0.0.1:1/' }).end();
      },
    ],
    [
      'HTML',
      'garbage',
      (_req, res) => {
        res.writeHead(200, { 'content-type': 'text/html' }).end('<html>');
      },
    ],
    [
      'broken JSON',
      'garbage',
      (_req, res) => {
        res.writeHead(200, { 'content-type': 'application/json' }).end('{"jsonrpc":');
      },
    ],
    [
      'another id',
      'garbage',
      (_req, res, { id }) => {
        json(res, 200, { jsonrpc: '2.0', id: (id ?? 0) + 1, result: {} });
      },
    ],
    [
      'a text as result',
      'garbage',
      (_req, res, { id }) => {
        json(res, 200, { jsonrpc: '2.0', id, result: 'text' });
      },
    ],
    [
      'null as error',
      'garbage',
      (_req, res, { id }) => {
        json(res, 200, { jsonrpc: '2.0', id, error: null });
      },
    ],
    [
      'a result and an error',
      'garbage',
      (_req, res, { id }) => {
        json(res, 200, { jsonrpc: '2.0', id, result: {}, error: null });
      },
    ],
    [
      'a reset',
      'unavailable',
      (req) => {
        req.socket.destroy();
      },
    ],
    [
      'events without a reply',
      'unavailable',
      (_req, res) => {
        res.writeHead(200, { 'content-type': 'text/event-stream' }).end(': nothing\n\n');
      },
    ],
    ['silence', 'timeout', () => undefined],
    [
      'headers and silence',
      'timeout',
      (_req, res) => {
        res.writeHead(200, { 'content-type': 'application/json' }).flushHeaders();
      },
    ],
    [
      'a reply over the size limit',
      'too_large',
      (_req, res, { id }) => {
        json(res, 200, { jsonrpc: '2.0', id, result: { text: 'x'.repeat(5_000_000) } });
      },
    ],
    [
      'a forgotten session',
      'session_lost',
      (_req, res) => {
        json(res, 404, { jsonrpc: '2.0', id: null, error: { code: -32001, message: 'Session not found' } });
      },
    ],
  ])('reports %s as %s', async (_name, kind, answer) => {
    const channel = await open(answer, { session: 's' });
    const failure = await failureOf(call(channel, kind === 'timeout' ? 300 : 5_000));
    expect(failure.kind).toBe(kind);
    expect(failure.detail).not.toContain('secret-canary');
    expect(channel.alive).toBe(kind !== 'session_lost');
  });

  it("forwards a backend's JSON-RPC error with any HTTP status", async () => {
    const channel = await open((_req, res, { id }) => {
      json(res, 404, { jsonrpc: '2.0', id, error: { code: -32601, message: 'no', data: 7 } });
    });
    expect(JSON.parse(await call(channel))).toEqual({
      jsonrpc: '2.0',
      id: 'client-7',
      error: { code: -32601, message: 'no', data: 7 },
    });
  });

  it('cancels a request at the backend', async () => {
    const seen: string[] = [];
    const channel = await open(() => undefined, { seen });
    const failure = await new Promise<BackendFailure>((resolve) => {
      const handle = channel.request(
        { method: 'tools/call', params: undefined, id: Buffer.from('1'), timeoutMs: 5_000 },
        { reply: () => undefined, message: () => undefined, fail: resolve },
      );
      setTimeout(() => {
        handle.cancel('enough');
      }, 50);
    });
    expect(failure).toEqual({ kind: 'cancelled', detail: 'enough' });
    await expect
      .poll(() => seen.at(-1))
      .toContain('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}');
  });
});
