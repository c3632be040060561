import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { PassThrough } from 'node:stream';
import { afterEach, expect, it } from 'vitest';
import { createLog } from '../../../telemetry/log.ts';
import type { Channel, Transport } from '../channel.ts';
import { httpTransport } from './http-transport.ts';
import { ask } from '../request-reply.ts';

interface Message {
  readonly id?: number;
  readonly method?: string;
}

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const json = (res: ServerResponse, status: number, body: object, headers: Record<string, string> = {}): void => {
  res.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
};

/** Starts a backend with sessions, each with a GET stream. `answer` serves all messages after the handshake. */
async function backend(answer: (message: Message, res: ServerResponse) => void) {
  const streams = new Set<ServerResponse>();
  let sessions = 0;
  const post = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const message = JSON.parse(await text(req)) as Message;
    const result = { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 'raw', version: '1' } };
    if (message.method === 'initialize') {
      sessions += 1;
      json(res, 200, { jsonrpc: '2.0', id: message.id, result }, { 'mcp-session-id': `s${String(sessions)}` });
    } else if (message.id === undefined) res.writeHead(202).end();
    else answer(message, res);
  };
  const server = createServer((req, res) => {
    if (req.method === 'POST') void post(req, res);
    else if (req.method === 'DELETE') res.end();
    else {
      streams.add(res);
      res.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      res.on('close', () => streams.delete(res));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return { port: (server.address() as AddressInfo).port, streams };
}

function connectTo(port: number, initTimeoutMs = 2_000): Transport {
  const transport = httpTransport({
    url: new URL(`http://127.0.0.1:${String(port)}/mcp`),
    clientInfo: { name: 'test', version: '0' },
    headers: {},
    maxReplyBytes: 1_000_000,
    initTimeoutMs,
    log: createLog(new PassThrough(), 'error'),
  });
  cleanups.push(() => transport.close());
  return transport;
}

const open = (transport: Transport, signal = AbortSignal.timeout(2_000)): Promise<Channel> =>
  transport.open({ key: 'k', capabilities: '{}', revision: '2025-11-25', onMessage: () => undefined }, signal);

const call = (channel: Channel): Promise<Buffer> =>
  ask(channel, 'tools/call', undefined, 2_000, { signal: AbortSignal.timeout(5_000) });

const ok = ({ id }: Message, res: ServerResponse): void => {
  json(res, 200, { jsonrpc: '2.0', id, result: {} });
};

it('serves calls while many channels listen', async () => {
  const { port, streams } = await backend(ok);
  const transport = connectTo(port);
  const channels = await Promise.all(Array.from({ length: 140 }, () => open(transport)));
  for (const channel of channels) channel.listen();
  await expect.poll(() => streams.size, { timeout: 5_000 }).toBe(140);
  await expect(Promise.all(channels.map(call))).resolves.toHaveLength(140);
});

it('stops listening on a session that the backend has lost', async () => {
  const { port, streams } = await backend((_message, res) => {
    res.writeHead(400).end();
  });
  const channel = await open(connectTo(port));
  channel.listen();
  await expect.poll(() => streams.size).toBe(1);
  await expect(call(channel)).rejects.toMatchObject({ failure: { kind: 'session_lost' } });
  await expect.poll(() => streams.size).toBe(0);
});

it('waits for the reply after informational responses, and accepts a media type in any case', async () => {
  const { port } = await backend(({ id }, res) => {
    res.writeEarlyHints({ link: '</style.css>; rel=preload' });
    res.writeProcessing();
    res.writeHead(200, { 'content-type': 'Application/JSON ;Charset=UTF-8' });
    res.end(JSON.stringify({ jsonrpc: '2.0', id, result: { late: true } }));
  });
  expect(String(await call(await open(connectTo(port))))).toContain('"late":true');
});

it('distinguishes a timeout while opening from a cancelled opening', async () => {
  const server = createServer(() => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  const transport = connectTo((server.address() as AddressInfo).port, 60_000);
  await expect(open(transport, AbortSignal.timeout(50))).rejects.toMatchObject({ failure: { kind: 'timeout' } });
  const gone = new AbortController();
  const opening = open(transport, gone.signal);
  gone.abort();
  await expect(opening).rejects.toMatchObject({ failure: { kind: 'cancelled' } });
});
