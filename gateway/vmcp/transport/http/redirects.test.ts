import { expect, it } from 'vitest';
import { startMcpServer } from '../../../../e2e/faults/mcp-server.ts';
import { hostBackend } from '../../../../e2e/harness/backends/host.ts';
import { eventually } from '../../../../e2e/harness/poll.ts';
import { testScope } from '../../../../e2e/harness/scope.ts';
import { createLog } from '../../../telemetry/log.ts';
import type { ChannelOwner } from '../channel.ts';
import { anyEraTransport } from '../modern/eras.ts';
import { callTool, ownerOf, textOf } from '../testdata/calls.ts';
import { failureOf } from '../testdata/failure-of.ts';

const log = createLog(process.stderr, 'error');

function transportTo(url: string) {
  const transport = anyEraTransport(
    {
      url: new URL(url),
      clientInfo: { name: 'test', version: '0' },
      headers: { authorization: 'Bearer secret' },
      maxReplyBytes: 1_000_000,
      initTimeoutMs: 5_000,
      log,
    },
    Date.now,
  );
  testScope().defer(() => transport.close());
  return transport;
}

const open = (url: string, owner: ChannelOwner = ownerOf('k')) =>
  transportTo(url).open(owner, AbortSignal.timeout(10_000));

it.each([
  [307, '/mcp/'],
  [308, '/other?tenant=1'],
])('follows a redirect (%i) to %s of the same origin with method, body and headers', async (status, target) => {
  const server = await startMcpServer(testScope(), 'raw');
  const paths: (string | undefined)[] = [];
  const isMoved = ({ url = '' }: { url?: string | undefined }): boolean => url === '/mcp';
  server.intercept = ({ req, res }) => {
    paths.push(req.url);
    if (isMoved(req)) res.writeHead(status, { location: target }).end('moved');
    return isMoved(req);
  };
  server.interceptGet = (req, res) => {
    if (isMoved(req)) res.writeHead(status, { location: target }).end();
    return isMoved(req);
  };
  const channel = await open(server.url);
  expect(textOf(await callTool(channel, 'tool', { text: 'x' }))).toBe('tool x');
  const large = 'x'.repeat(100_000);
  expect(textOf(await callTool(channel, 'tool', { text: large }))).toBe(`tool ${large}`);
  channel.listen();
  await eventually('the stream is open', () => server.streams.size === 1);
  expect(server.seen.every(({ headers }) => headers['authorization'] === 'Bearer secret')).toBe(true);
  expect(paths.slice(-3)).toEqual([target, target, target]);
  await channel.close();
  expect(server.sessions.size).toBe(0);
});

it('sends a large body again behind a redirect', async () => {
  const server = await startMcpServer(testScope(), 'raw');
  const channel = await open(server.url);
  server.intercept = ({ req, res, message }) => {
    if (req.url !== '/mcp' || message.method !== 'tools/call') return false;
    res.writeHead(307, { location: 'mcp/v2' }).end();
    return true;
  };
  const large = 'x'.repeat(500_000);
  expect(textOf(await callTool(channel, 'tool', { text: large }))).toBe(`tool ${large}`);
});

it.each([
  [
    'another origin',
    307,
    'https://mcp.example/mcp/?token=secret',
    /\(HTTP 307\) to https:\/\/mcp\.example\/mcp\/; such redirects are not followed: set/u,
  ],
  [
    'another method',
    301,
    '/mcp/',
    /\(HTTP 301\) to http:\/\/127\.0\.0\.1:\d+\/mcp\/; such redirects are not followed$/u,
  ],
  ['itself', 308, '/mcp', /\(HTTP 308\) to http:\/\/127\.0\.0\.1:\d+\/mcp; such redirects are not followed$/u],
  ['no URL', 307, 'http://[', /\(HTTP 307\) to no valid URL/u],
  ['a password', 307, 'http://user:pass@127.0.0.1/mcp', /\(HTTP 307\) to http:\/\/127\.0\.0\.1\/mcp; such/u],
])('names the target of a redirect to %s', async (_, status, location, detail) => {
  let requests = 0;
  const { url } = await hostBackend(testScope(), '/mcp', (_req, res) => {
    requests += 1;
    res.writeHead(status, { location }).end();
    return Promise.resolve();
  });
  const failure = await failureOf(open(url));
  expect(failure.kind).toBe('garbage');
  expect(failure.detail).toMatch(detail);
  expect(failure.detail).not.toMatch(/secret|pass/u);
  expect(requests).toBeLessThan(10);
});
