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
    const { catalog, warnings, complete } = await discovered({
      'resources/list': status(code),
      'resources/templates/list': empty('resourceTemplates'),
      'prompts/list': empty('prompts'),
    });
    expect([catalog.tools.map(({ key }) => key), catalog.resources, complete]).toEqual([['tool'], [], false]);
    expect(warnings.map(({ reason }) => reason)).toEqual(['ListUnavailable']);
  },
);

it('treats a list that is answered with 405 or -32601 as empty', async () => {
  const { catalog, complete } = await discovered({ 'resources/list': status(405) });
  expect([catalog.tools.length, catalog.resources.length, complete]).toEqual([1, 0, true]);
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
