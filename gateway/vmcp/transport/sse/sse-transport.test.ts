import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import express from 'express';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { createGzip, type Gzip } from 'node:zlib';
import { Agent } from 'undici';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createLogger } from 'winston';
import { z } from 'zod';
import type { Transport } from '../channel.ts';
import { sseTransport, type SseTransportOptions } from './sse-transport.ts';
import { callTool, ownerOf, startCall, textOf, toolParams } from '../testdata/calls.ts';
import { failureOf } from '../testdata/failure-of.ts';

const log = createLogger({ silent: true });
const never = new AbortController().signal;
const cleanup: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of cleanup.splice(0).reverse()) await step();
});

async function listen(handler: RequestListener): Promise<{ server: Server; url: URL }> {
  const server = createServer(handler).listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanup.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { server, url: new URL(`http://127.0.0.1:${String((server.address() as AddressInfo).port)}/sse`) };
}

function transportTo(url: URL, options: Partial<SseTransportOptions> = {}): Transport {
  const dispatcher = new Agent();
  const transport = sseTransport({
    name: 'fixture',
    url,
    dispatcher,
    headers: { 'x-forwarded': 'by config' },
    clientInfo: { name: 'vmcp', version: '0.1.0' },
    initTimeoutMs: 5_000,
    maxMessageBytes: 1 << 20,
    log,
    ...options,
  });
  cleanup.push(
    () => dispatcher.destroy(),
    () => transport.close(),
  );
  return transport;
}

/** Starts a server made with the SDK; `requests` records the heads of its requests. */
async function sdkServer() {
  const sessions = new Map<string, SSEServerTransport>();
  const requests: { method: string; headers: IncomingMessage['headers'] }[] = [];
  const app = express();
  app.use((req, _, next) => {
    requests.push({ method: req.method, headers: req.headers });
    next();
  });
  app.get('/sse', async (_, res) => {
    const transport = new SSEServerTransport('/messages', res);
    sessions.set(transport.sessionId, transport);
    res.on('close', () => sessions.delete(transport.sessionId));
    await newServer().connect(transport);
  });
  app.post('/messages', async (req, res) => {
    const transport = sessions.get(req.query['sessionId'] as string);
    if (transport) await transport.handlePostMessage(req, res);
    else res.status(404).end('no session');
  });
  return { ...(await listen(app)), sessions, requests };
}

function newServer(): McpServer {
  const server = new McpServer({ name: 'sse', version: '1' }, { capabilities: { logging: {} } });
  const say = (value: string) => ({ content: [{ type: 'text' as const, text: value }] });
  server.registerTool('echo', { inputSchema: { text: z.string() } }, (args) => say(args.text));
  server.registerTool('progress', {}, async ({ _meta, sendNotification }) => {
    const progressToken = _meta?.progressToken ?? -1;
    await sendNotification({ method: 'notifications/progress', params: { progressToken, progress: 1 } });
    return say(String(progressToken));
  });
  server.registerTool('wait', {}, async ({ signal }) => {
    await sleep(60_000, undefined, { signal }).catch(() => server.server.sendToolListChanged());
    return say('');
  });
  return server;
}

describe('a channel over the SDK’s SSEServerTransport', () => {
  it('initializes, calls, maps ids, forwards headers and ends the stream on close', async () => {
    const { url, sessions, requests } = await sdkServer();
    const channel = await transportTo(url).open(ownerOf('s1'), never);
    expect(channel.facts).toMatchObject({ revision: '2025-11-25', serverInfo: { name: 'sse' }, hasSession: true });
    const params = toolParams('echo', { text: 'hallo' });
    const headers = { 'x-request': 'one', 'x-forwarded': 'by client' };
    const called = await startCall(channel, { method: 'tools/call', params, headers }).outcome;
    expect(textOf(called)).toBe('hallo');
    expect(called.reply?.id).toBe('client-1');
    expect(requests[0]).toMatchObject({
      method: 'GET',
      headers: { accept: 'text/event-stream', 'x-forwarded': 'by config' },
    });
    expect(requests.at(-1)?.headers).toMatchObject({
      'x-request': 'one',
      'x-forwarded': 'by config',
      'mcp-protocol-version': '2025-11-25',
    });
    await channel.close();
    expect(channel.alive).toBe(false);
    await vi.waitFor(() => expect(sessions.size).toBe(0), 10_000);
  });

  it('keeps the sessions of two owners apart', async () => {
    const { url, sessions } = await sdkServer();
    const transport = transportTo(url);
    const [a, b] = await Promise.all([transport.open(ownerOf('a'), never), transport.open(ownerOf('b'), never)]);
    expect(sessions.size).toBe(2);
    const texts = Array.from({ length: 50 }, (_, n) => `text ${String(n)}`);
    const outcomes = await Promise.all(texts.map((text, n) => callTool(n % 2 ? a : b, 'echo', { text })));
    expect(outcomes.map(textOf)).toEqual(texts);
    await a.close();
    expect(textOf(await callTool(b, 'echo', { text: 'still' }))).toBe('still');
  });

  it('maps progress and cancels at the backend', async () => {
    const { url } = await sdkServer();
    const seen: string[] = [];
    const channel = await transportTo(url).open(
      ownerOf('s1', { onMessage: (_, { method }) => void seen.push(method ?? '') }),
      never,
    );
    const { messages } = await callTool(channel, 'progress', {}, { progressToken: 'mine' });
    expect(messages).toMatchObject([{ params: { progressToken: 'mine', progress: 1 } }]);
    const waiting = startCall(channel, { method: 'tools/call', params: toolParams('wait') });
    waiting.handle.cancel('enough');
    expect((await waiting.outcome).failure?.kind).toBe('cancelled');
    await vi.waitFor(() => expect(seen).toContain('notifications/tools/list_changed'), 10_000);
  });

  it('is not alive after the backend ends the stream; running calls fail, a new channel works', async () => {
    const { url, sessions } = await sdkServer();
    const transport = transportTo(url);
    const channel = await transport.open(ownerOf('s1'), never);
    const waiting = startCall(channel, { method: 'tools/call', params: toolParams('wait') });
    await sleep(50);
    await [...sessions.values()][0]?.close();
    expect((await waiting.outcome).failure?.kind).toBe('unavailable');
    expect(channel.alive).toBe(false);
    const again = await transport.open(ownerOf('s1'), never);
    expect(textOf(await callTool(again, 'echo', { text: 'x' }))).toBe('x');
  });

  it('reports a lost session when the backend does not know it', async () => {
    const { url, sessions } = await sdkServer();
    const channel = await transportTo(url).open(ownerOf('s1'), never);
    sessions.clear();
    expect((await callTool(channel, 'echo', { text: 'x' })).failure?.kind).toBe('session_lost');
    expect(channel.alive).toBe(false);
  });
});

type Respond = (
  message: { id: number; method: string; params: { name?: string } },
  stream: ServerResponse,
  post: ServerResponse,
) => void;

/** Starts a server with `endpoint` as the data of its endpoint event; `respond` handles each message but initialize. */
async function rawServer(endpoint: string, respond: Respond = () => undefined): Promise<URL> {
  let stream: ServerResponse | undefined;
  const { url } = await listen((req, res) => {
    if (req.method === 'GET') {
      stream = res.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
      res.write(`: hello\r\n\r\nevent: endpoint\r\ndata: ${endpoint}\r\n\r\n`);
      return;
    }
    void text(req).then((body) => {
      const message = JSON.parse(body) as Parameters<Respond>[0];
      const result = { protocolVersion: '2024-11-05', capabilities: {}, serverInfo: { name: 'raw', version: '0' } };
      if (message.method === 'initialize') send(stream!, { jsonrpc: '2.0', id: message.id, result });
      else if (message.method === 'tools/call') respond(message, stream!, res);
      if (!res.writableEnded) res.writeHead(202).end();
    });
  });
  return url;
}
const send = (stream: ServerResponse, message: unknown) =>
  stream.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);

/** Starts a server of raw events. `onPost` may answer a POST itself; a message gets its reply on the stream. */
async function eventServer(options: {
  readonly onGet?: (req: IncomingMessage, res: ServerResponse) => boolean;
  readonly onPost?: (message: Message, req: IncomingMessage, res: ServerResponse) => boolean;
  readonly answer?: (message: Message) => object;
}) {
  let events: Writable | undefined;
  const initialized = { protocolVersion: '2024-11-05', capabilities: {}, serverInfo: { name: 'raw', version: '1' } };
  const { answer = ({ method }) => ({ result: method === 'initialize' ? initialized : {} }) } = options;
  const { url } = await listen((req, res) => {
    if (req.method === 'GET') {
      if (options.onGet?.(req, res) === true) return;
      const gzip = createGzip();
      gzip.pipe(res.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' }));
      events = gzip;
      gzip.write('event: endpoint\ndata: messages?sessionId=1\n\n');
      gzip.flush();
      return;
    }
    void text(req).then((body) => {
      const message = JSON.parse(body) as Message;
      if (options.onPost?.(message, req, res) === true) return;
      res.writeHead(202).end();
      const reply = JSON.stringify({ jsonrpc: '2.0', id: message.id, ...answer(message) });
      if (message.id !== undefined) events?.write(`event: message\ndata: ${reply}\n\n`);
      (events as Gzip).flush();
    });
  });
  return url;
}

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
}

describe('a channel over raw events', () => {
  it('reads a compressed stream', async () => {
    const channel = await transportTo(await eventServer({})).open(ownerOf('s1'), never);
    expect((await callTool(channel, 'tool')).reply).toMatchObject({ result: {} });
  });

  it('follows redirects of the stream and of messages to the same origin', async () => {
    const paths: (string | undefined)[] = [];
    const url = await eventServer({
      onGet: (req, res) => {
        if (req.url === '/sse') res.writeHead(302, { location: '/v2/sse/' }).end();
        return req.url === '/sse';
      },
      onPost: ({ method }, req, res) => {
        paths.push(`${String(method)} ${String(req.url)}`);
        const isMoved = req.url?.includes('messages?') === true;
        if (isMoved) res.writeHead(307, { location: req.url?.replace('?', '/?') }).end();
        return isMoved;
      },
    });
    const channel = await transportTo(url).open(ownerOf('s1'), never);
    expect((await callTool(channel, 'tool')).reply).toMatchObject({ result: {} });
    expect(paths).toEqual([
      'initialize /v2/sse/messages?sessionId=1',
      'initialize /v2/sse/messages/?sessionId=1',
      'notifications/initialized /v2/sse/messages/?sessionId=1',
      'tools/call /v2/sse/messages/?sessionId=1',
    ]);
  });

  it('opens although notifications/initialized is refused', async () => {
    const url = await eventServer({
      onPost: ({ method }, _req, res) => {
        if (method === 'notifications/initialized') res.writeHead(400).end('no');
        return method === 'notifications/initialized';
      },
    });
    const channel = await transportTo(url).open(ownerOf('s1'), never);
    expect((await callTool(channel, 'tool')).reply).toMatchObject({ result: {} });
  });

  it('initializes again in a revision that the refusal names', async () => {
    const offered: unknown[] = [];
    const url = await eventServer({
      answer: ({ method, params }) => {
        if (method === 'initialize') offered.push(params?.['protocolVersion']);
        if (offered.length === 1)
          return { error: { code: -32602, message: 'no', data: { supported: ['2024-11-05'] } } };
        return { result: { protocolVersion: '2024-11-05', capabilities: {}, serverInfo: { name: 'x', version: '1' } } };
      },
    });
    const channel = await transportTo(url).open(ownerOf('s1'), never);
    expect([channel.facts.revision, ...offered]).toEqual(['2024-11-05', '2025-11-25', '2024-11-05']);
  });
});

describe('a bad SSE server', () => {
  it.each(['/messages?s=1', 'messages?s=1', '?s=1'])('may name its endpoint as %s', async (endpoint) => {
    const channel = await transportTo(await rawServer(endpoint)).open(ownerOf('s1'), never);
    expect(channel.facts.revision).toBe('2024-11-05');
  });

  it.each([
    'http://127.0.0.1:1/messages',
    'https://127.0.0.1/messages',
    '//evil.example/messages',
    'http://[broken',
    'file:///etc/passwd',
  ])('is rejected when its endpoint is %s', async (endpoint) => {
    const failure = await failureOf(transportTo(await rawServer(endpoint)).open(ownerOf('s1'), never));
    expect(failure).toMatchObject({ kind: 'garbage', detail: expect.stringContaining('origin') as string });
  });

  it('is rejected when its endpoint contains a password', async () => {
    const url = await listen((_, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.write(`event: endpoint\ndata: http://user:secret@${url.url.host}/messages\n\n`);
    });
    expect((await failureOf(transportTo(url.url).open(ownerOf('s1'), never))).kind).toBe('garbage');
  });

  it.each([
    [401, {}, 'unauthenticated'],
    [403, {}, 'unauthenticated'],
    [404, {}, 'unavailable'],
    [405, {}, 'refused'],
    [429, { 'retry-after': '7' }, 'refused'],
    [500, {}, 'unavailable'],
    [302, { location: 'http://127.0.0.1:1/' }, 'garbage'],
    [200, { 'content-type': 'text/html' }, 'garbage'],
  ])('that answers %i with %j fails the opening as %s', async (status, headers, kind) => {
    const { url } = await listen((_, res) => res.writeHead(status, headers).end('<html>'));
    const failure = await failureOf(transportTo(url).open(ownerOf('s1'), never));
    expect(failure.kind).toBe(kind);
    if (status === 429) expect(failure.retryAfterSeconds).toBe(7);
    if (status === 302) expect(failure.detail).toContain('redirects are not followed');
  });

  it('is unavailable when its port is closed', async () => {
    const { server, url } = await listen(() => undefined);
    server.close();
    expect((await failureOf(transportTo(url).open(ownerOf('s1'), never))).kind).toBe('unavailable');
  });

  it('times out when it never sends an endpoint or never answers', async () => {
    const silent = await listen((_, res) => res.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders());
    const dead = await listen(() => undefined);
    for (const { url } of [silent, dead]) {
      const opening = transportTo(url, { initTimeoutMs: 200 }).open(ownerOf('s1'), never);
      expect((await failureOf(opening)).kind).toBe('timeout');
      const waiting = transportTo(url).open(ownerOf('s1'), AbortSignal.timeout(100));
      expect((await failureOf(waiting)).kind).toBe('timeout');
    }
  });

  it('fails only the call whose POST is rejected', async () => {
    const url = await rawServer('/m', ({ id, params }, stream, post) => {
      if (params.name === 'fail') post.writeHead(503, { 'retry-after': '3' }).end();
      else send(stream, { jsonrpc: '2.0', id, result: { text: 'fine' } });
    });
    const channel = await transportTo(url).open(ownerOf('s1'), never);
    expect((await callTool(channel, 'fail')).failure).toMatchObject({ kind: 'unavailable', retryAfterSeconds: 3 });
    expect((await callTool(channel, 'ok')).reply?.result).toEqual({ text: 'fine' });
  });

  it('may split a reply anywhere, with CRLF and several data lines', async () => {
    const url = await rawServer('/m', ({ id }, stream) => {
      const bytes = Buffer.from(`data: {"jsonrpc":"2.0",\r\ndata: "id":${String(id)},"result":{"text":"€"}}\r\n\r\n`);
      void (async () => {
        for (const byte of bytes) {
          stream.write(Buffer.from([byte]));
          await sleep(1);
        }
      })();
    });
    const channel = await transportTo(url).open(ownerOf('s1'), never);
    expect((await callTool(channel, 'x')).reply?.result).toEqual({ text: '€' });
  });

  it('fails its calls with too_large and its channel when an event exceeds the limit', async () => {
    const url = await rawServer('/m', (_, stream) => stream.write(`data: ${'x'.repeat(2 << 20)}`));
    const channel = await transportTo(url).open(ownerOf('s1'), never);
    expect((await callTool(channel, 'x')).failure?.kind).toBe('too_large');
    expect(channel.alive).toBe(false);
  });

  it('may send events that are not messages', async () => {
    const url = await rawServer('/m', ({ id }, stream) => {
      stream.write(
        'event: ping\ndata: {}\n\nid: 4\n\ndata: not json\n\nevent: endpoint\ndata: http://evil.example/\n\n',
      );
      send(stream, { jsonrpc: '2.0', id, result: { text: 'fine' } });
    });
    const channel = await transportTo(url).open(ownerOf('s1'), never);
    expect((await callTool(channel, 'x')).reply?.result).toEqual({ text: 'fine' });
    expect((await callTool(channel, 'x')).reply?.result).toEqual({ text: 'fine' });
  });
});
