import { once } from 'node:events';
import { Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { createLogger } from 'winston';
import { attachTransport, type AttachTransportOptions } from './attach-transport.ts';
import type { StdioTransport } from '../stdio/stdio-transport.ts';
import { startAttachServer, type AttachServer, type AttachServerOptions } from './testdata/attach-server.ts';
import { callTool, ownerOf, textOf } from '../testdata/calls.ts';
import { failureOf } from '../testdata/failure-of.ts';

const lines: Record<string, unknown>[] = [];
const log = createLogger({ level: 'debug' });
log.pipe(
  new Writable({
    objectMode: true,
    write(line: Record<string, unknown>, _, done) {
      lines.push(line);
      done();
    },
  }),
);
const never = new AbortController().signal;
const cleanups: (() => Promise<unknown>)[] = [];
let nowMs = 0;
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  lines.length = 0;
});

interface Attached {
  readonly server: AttachServer;
  readonly transport: StdioTransport;
}

async function attached(
  script: string,
  options: Partial<AttachServerOptions> = {},
  more: Partial<AttachTransportOptions> = {},
  token: () => string = () => 'one',
): Promise<Attached> {
  const file = fileURLToPath(new URL(`../testdata/${script}`, import.meta.url));
  const server = await startAttachServer({ ...options, script: file });
  cleanups.push(() => server.close());
  return { server, transport: transportTo(server.url, more, token) };
}

function transportTo(url: string, more: Partial<AttachTransportOptions> = {}, token = () => 'one'): StdioTransport {
  const transport = attachTransport({
    name: 'fixture',
    clientInfo: { name: 'vmcp', version: '0.1.0' },
    initTimeoutMs: 10_000,
    maxMessageBytes: 8 << 20,
    now: () => nowMs,
    log,
    place: {
      connection: {
        baseUrl: url,
        namespace: 'team',
        tls: () => ({}),
        authorization: () => Promise.resolve(`Bearer ${token()}`),
      },
      namespace: 'team',
      pod: 'mcp-files-0',
      container: 'mcp',
    },
    ...more,
  });
  cleanups.push(() => transport.close());
  return transport;
}

const logged = (message: string) => lines.filter((line) => line['message'] === message);

describe('an attached container', () => {
  it('is initialized and called, and its input is closed at the end', async () => {
    const { server, transport } = await attached('sdk-server.ts');
    const channel = await transport.open(ownerOf('s1'), never);
    expect(channel.facts).toMatchObject({ serverInfo: { name: 'fixture' }, hasSession: true });
    expect(textOf(await callTool(channel, 'echo', { text: 'hé\nllo' }))).toBe('hé\nllo');
    expect(server.seen).toEqual([
      {
        authorization: 'Bearer one',
        url: '/api/v1/namespaces/team/pods/mcp-files-0/attach?container=mcp&stdin=true&stdout=true&stderr=true&tty=false',
      },
    ]);
    const [child] = server.children;
    if (!child) throw new Error('nothing runs');
    const exited = once(child, 'exit');
    await transport.close();
    expect(await exited).toEqual([0, null]);
    expect(channel.alive).toBe(false);
    expect(logged('backend process ended')).toEqual([]);
  });

  it('sends and receives long messages', async () => {
    const { transport } = await attached('sdk-server.ts');
    const channel = await transport.open(ownerOf('s1'), never);
    const text = 'é'.repeat(1 << 20);
    expect(textOf(await callTool(channel, 'echo', { text })) === text).toBe(true);
  });

  it('is one process for all sessions, and is offered no feature of a single client', async () => {
    const { server, transport } = await attached('sdk-server.ts');
    const channels = await Promise.all(
      ['s1', 's2', 's3'].map((key) => transport.open(ownerOf(key, { principal: key }), never)),
    );
    const answers = await Promise.all(channels.map((channel) => callTool(channel, 'capabilities')));
    expect(answers.map(textOf)).toEqual(['{}', '{}', '{}']);
    expect(server.children).toHaveLength(1);
    await channels[0]?.close();
    expect(textOf(await callTool(channels[1] as (typeof channels)[0], 'echo', { text: 'on' }))).toBe('on');
  });

  it('is attached again with the current token after it has ended; its stderr is logged at debug only', async () => {
    let token = 'one';
    const { server, transport } = await attached('bad-server.ts', { args: ['well'] }, {}, () => token);
    const channel = await transport.open(ownerOf('s1'), never);
    server.children[0]?.stderr.emit('data', Buffer.from('last words\n'));
    const { failure } = await callTool(channel, 'crash');
    expect(failure).toMatchObject({ kind: 'unavailable', detail: 'the process ended by itself' });
    expect(logged('backend process ended')).toMatchObject([{ backend: 'fixture', how: 'by itself' }]);
    const telling = lines.filter((line) => JSON.stringify(line).includes('last words'));
    expect(telling).toMatchObject([{ level: 'debug', message: 'workload output', workload: 'fixture' }]);
    expect(await failureOf(transport.open(ownerOf('s1'), never))).toMatchObject({ retryAfterSeconds: 1 });
    nowMs += 1_000;
    token = 'two';
    const next = await transport.open(ownerOf('s1'), never);
    expect((await callTool(next, 'early')).reply).toMatchObject({ result: { text: 'late' } });
    expect(server.seen.map(({ authorization }) => authorization)).toEqual(['Bearer one', 'Bearer two']);
  });

  it('is retried after 2 s at most, however often attaching failed', async () => {
    const { server, transport } = await attached('bad-server.ts', { refuse: () => ({ status: 500, body: '' }) });
    for (let times = 1; times <= 6; times += 1) {
      expect((await failureOf(transport.open(ownerOf('s1'), never))).detail).toBe(
        'attach to mcp-files-0/mcp: 500 InternalError: the container is not running: "kubectl describe pod" shows the reason',
      );
      expect(server.seen).toHaveLength(times);
      nowMs += 2_000;
    }
  });

  it('reports why attaching is forbidden, and that an API server is unreachable', async () => {
    const body = JSON.stringify({ kind: 'Status', code: 403, reason: 'Forbidden', message: 'pods "x" is forbidden' });
    const { server, transport } = await attached('bad-server.ts', { refuse: () => ({ status: 403, body }) });
    expect(await failureOf(transport.open(ownerOf('s1'), never))).toEqual({
      kind: 'unavailable',
      detail: 'attach to mcp-files-0/mcp: 403 Forbidden: pods "x" is forbidden',
    });
    await server.close();
    const { detail } = await failureOf(transportTo(server.url).open(ownerOf('s1'), never));
    expect(detail).toMatch(/: the API server cannot be reached \(ECONNREFUSED: /u);
  });

  it('ends with the connection without v5 of the protocol', async () => {
    const { server, transport } = await attached('sdk-server.ts', { protocol: 'v4.channel.k8s.io' });
    await transport.open(ownerOf('s1'), never);
    const [child] = server.children;
    const exited = child && once(child, 'exit');
    await transport.close();
    expect(await exited).toEqual([0, null]);
  });

  it('fails calls when it reads no input, and buffers no more than the limit', async () => {
    const { transport } = await attached('bad-server.ts', { args: ['well'] }, { maxMessageBytes: 1 << 20 });
    const channel = await transport.open(ownerOf('s1'), never);
    void callTool(channel, 'stop-reading');
    await sleep(200);
    const calls = Array.from({ length: 30 }, () => callTool(channel, 'hang', { text: 'x'.repeat(900_000) }));
    expect((await Promise.race(calls)).failure).toMatchObject({
      kind: 'unavailable',
      detail: 'the process does not read its input',
    });
  });

  it('is abandoned when its connection is silently lost', async () => {
    let deaf = true;
    const options = { args: ['well'], deaf: () => deaf };
    const { transport } = await attached('bad-server.ts', options, { pingEveryMs: 50 });
    const { detail } = await failureOf(transport.open(ownerOf('s1'), never));
    expect(detail).toContain('out of reach');
    deaf = false;
    nowMs += 2_000;
    const channel = await transport.open(ownerOf('s1'), never);
    await sleep(500); // pongs keep it
    expect(channel.alive).toBe(true);
  });
});
