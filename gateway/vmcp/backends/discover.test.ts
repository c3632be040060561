import { expect, it } from 'vitest';
import { startMcpServer, type Exchange, type ServerOptions } from '../../../e2e/faults/mcp-server.ts';
import { testScope } from '../../../e2e/harness/scope.ts';
import { createLog } from '../../telemetry/log.ts';
import { httpTransport } from '../transport/http/http-transport.ts';
import { ownerOf } from '../transport/testdata/calls.ts';
import { discover } from './discover.ts';

const ALL = { tools: {}, resources: {}, prompts: {} };

async function discovered(methods: ServerOptions['methods'], capabilities: Readonly<Record<string, unknown>> = ALL) {
  const server = await startMcpServer(testScope(), 'raw', { capabilities, ...(methods && { methods }) });
  const transport = httpTransport({
    url: new URL(server.url),
    clientInfo: { name: 'test', version: '0' },
    headers: {},
    maxReplyBytes: 8 * 1024 * 1024,
    initTimeoutMs: 5_000,
    log: createLog(process.stderr, 'error'),
  });
  testScope().defer(() => transport.close());
  const channel = await transport.open(ownerOf('k'), AbortSignal.timeout(10_000));
  return discover('raw', channel, 5_000, { signal: AbortSignal.timeout(15_000), credential: undefined });
}

const status = (code: number) => (exchange: Exchange) => void exchange.res.writeHead(code).end();
const empty =
  (member: string) =>
  ({ result }: Exchange) => {
    result({ [member]: [] });
  };

it.each([404, 429, 500, 501])(
  'treats a list that is answered with %i as empty and incomplete, with a warning',
  async (code) => {
    const { catalog, warnings, unread } = await discovered({
      'resources/list': status(code),
      'resources/templates/list': empty('resourceTemplates'),
      'prompts/list': empty('prompts'),
    });
    expect([catalog.tools.map(({ key }) => key), catalog.resources, [...unread.keys()]]).toEqual([
      ['tool'],
      [],
      ['resources'],
    ]);
    expect(warnings.map(({ reason }) => reason)).toEqual(['ListUnavailable']);
  },
);

it('treats a list that is answered with 405 or -32601 as empty', async () => {
  const { catalog, unread } = await discovered({ 'resources/list': status(405) });
  expect([catalog.tools.length, catalog.resources.length, unread.size]).toEqual([1, 0, 0]);
});

const refused =
  (code: number) =>
  ({ error }: Exchange) => {
    error(code, 'fetch failed: https://internal.example/?key=canary');
  };

it.each(['tools/list', 'resources/list', 'prompts/list'])(
  'reports an error that answers %s, and reads the others',
  async (method) => {
    const all = {
      'resources/list': empty('resources'),
      'resources/templates/list': empty('resourceTemplates'),
      'prompts/list': empty('prompts'),
    };
    const { warnings, unread } = await discovered({ ...all, [method]: refused(-32603) });
    const kind = method.slice(0, -'/list'.length);
    expect([...unread]).toEqual([[kind, `${method} answers the error -32603`]]);
    expect(warnings).toEqual([
      {
        reason: 'ListUnavailable',
        backend: 'raw',
        message: `the ${kind} cannot be read, and the gateway tries again: ${method} answers the error -32603`,
      },
    ]);
  },
);

it.each([
  ['an error', refused(-32603), 'refused'],
  [
    'a page of HTML',
    ({ res }: Exchange) => void res.writeHead(200, { 'content-type': 'text/html' }).end('<p>'),
    'garbage',
  ],
  ['405', status(405), 'refused'],
])('fails when the only list of a backend is answered with %s', async (_name, answer, kind) => {
  const found = discovered({ 'tools/list': answer }, { tools: {} });
  await expect(found).rejects.toMatchObject({ failure: { kind } });
});

it('keeps the pages before one that is refused, and reports that the list is not complete', async () => {
  let pages = 0;
  const { catalog, unread } = await discovered(
    {
      'tools/list': (exchange) => {
        pages += 1;
        if (pages === 2) exchange.error(-32602, 'unknown cursor');
        else exchange.result({ tools: [{ name: 'first' }], nextCursor: 'next' });
      },
    },
    { tools: {} },
  );
  expect(catalog.tools.map(({ key }) => key)).toEqual(['first']);
  expect([...unread.keys()]).toEqual(['tools']);
});

it('fails when the tools of a backend cannot be read', async () => {
  await expect(discovered({ 'tools/list': status(500) })).rejects.toMatchObject({ failure: { kind: 'unavailable' } });
});

it('fails when no list of a backend can be read', async () => {
  const methods = { 'resources/list': status(503), 'resources/templates/list': status(503) };
  const found = discovered(methods, { resources: {} });
  await expect(found).rejects.toMatchObject({ failure: { kind: 'unavailable' } });
});

it('fails for an endless list when it exceeds the size limit', async () => {
  let last = 0;
  const found = discovered({
    'tools/list': ({ result }) => {
      last += 1;
      result({ tools: [{ name: `t${String(last)}`, description: 'x'.repeat(4_000_000) }], nextCursor: String(last) });
    },
  });
  await expect(found).rejects.toMatchObject({ failure: { kind: 'too_large' } });
  expect(last).toBeLessThan(12);
});
