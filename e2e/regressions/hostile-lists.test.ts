import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import { openSession, raw, textOf } from '../harness/clients/raw.ts';
import { entry } from '../harness/manifests.ts';
import { testScope } from '../harness/scope.ts';
import { eventually } from '../harness/poll.ts';
import type { Vmcp } from '../harness/vmcp.ts';
import { usage } from '../bench/usage.ts';
import { openGet } from '../faults/event-stream.ts';
import { startMcpServer, type Exchange, type ServerOptions } from '../faults/mcp-server.ts';
import { gateway, gatewayOverOne, often } from './gateway.ts';

const EVERYTHING = { tools: {}, resources: { subscribe: true }, prompts: {}, completions: {} };

const healthOf = async (vmcp: Vmcp, name: string): Promise<unknown> => {
  const { body } = await raw(`${vmcp.management}/api/backends/health`);
  return (JSON.parse(body) as { backends: Record<string, { status: string }> }).backends[name]?.status;
};

const answer = (status: number, type: string, body: (id: unknown) => string) => (exchange: Exchange) =>
  void exchange.res.writeHead(status, { 'content-type': type }).end(body(exchange.message.id));

const methodNotFound = (status: number) =>
  answer(status, 'application/json', (id) =>
    JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } }),
  );

/** Failures of an advertised list, by name. */
const LIES: Readonly<Record<string, (exchange: Exchange) => void>> = {
  '-32601 in HTTP 200': methodNotFound(200),
  '-32601 in HTTP 404': methodNotFound(404),
  '-32601 in HTTP 405': methodNotFound(405),
  '-32601 in HTTP 501': methodNotFound(501),
  '404 without JSON': answer(404, 'text/plain', () => 'not here'),
  '405 without JSON': answer(405, 'text/plain', () => 'not here'),
  '501 without JSON': answer(501, 'text/plain', () => 'not here'),
  '429': answer(429, 'text/plain', () => 'slow down'),
  '500': answer(500, 'text/plain', () => 'oops'),
  'a list of the wrong type': ({ result }) => {
    result({ resources: 'none', resourceTemplates: 7, prompts: null });
  },
};

describe.concurrent('a backend that declares resources and prompts and answers', () => {
  it.each(Object.entries(LIES))('%s for them stays healthy, and its tools are listed', async (_name, lie) => {
    const methods = { 'resources/list': lie, 'resources/templates/list': lie, 'prompts/list': lie };
    const { vmcp } = await gatewayOverOne({ capabilities: EVERYTHING, methods }, { operational: often });
    const began = performance.now();
    const session = await openSession(vmcp.url);
    expect(performance.now() - began).toBeLessThan(3_000);
    // A machine so busy that the first probe takes longer than a second omits the backend from the first list.
    await eventually('its tools are listed', async () => isDeepStrictEqual(await session.tools(), ['one_tool']));
    expect((await session.request('resources/list')).result).toMatchObject({ resources: [] });
    expect((await session.request('resources/templates/list')).result).toMatchObject({ resourceTemplates: [] });
    expect((await session.request('prompts/list')).result).toMatchObject({ prompts: [] });
    expect(textOf(await session.call('one_tool', { text: 'x' }))).toBe('tool x');
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(await healthOf(vmcp, 'one')).toSatisfy((status) => status === 'healthy');
  });

  it('500 for one list can still announce a change of another list', async () => {
    const methods = { 'prompts/list': LIES['500'] ?? (() => undefined) };
    const capabilities = { tools: { listChanged: true }, prompts: {} };
    const { vmcp, backend } = await gatewayOverOne({ capabilities, methods });
    const session = await openSession(vmcp.url);
    expect(await session.tools()).toEqual(['one_tool']);
    await eventually('the gateway has opened a stream', () => backend.streams.size > 0);
    backend.tools = ['tool', 'new'];
    backend.notify('notifications/tools/list_changed');
    await eventually('the list is read', async () => (await session.tools()).includes('one_new'));
  });

  it('429 once is listed when it answers again', async () => {
    let refuse = true;
    const methods: ServerOptions['methods'] = {
      'resources/list': (exchange) => {
        if (refuse) exchange.res.writeHead(429).end();
        else exchange.result({ resources: [{ uri: 'a:b', name: 'b' }] });
      },
      'resources/templates/list': ({ result }) => {
        result({ resourceTemplates: [] });
      },
    };
    const { vmcp } = await gatewayOverOne(
      { capabilities: { tools: {}, resources: {} }, methods },
      { operational: often },
    );
    const session = await openSession(vmcp.url);
    expect(await session.tools()).toEqual(['one_tool']);
    refuse = false;
    await eventually('the resource is listed', async () => {
      const { result } = await session.request('resources/list');
      return (result!['resources'] as unknown[]).length === 1;
    });
  });

  it.each([400, 404, 405, 500, 501])('%i to its GET stream stays healthy, and its calls work', async (getStatus) => {
    const { vmcp, backend } = await gatewayOverOne({ getStatus }, { operational: often });
    const session = await openSession(vmcp.url);
    const stream = await openGet(vmcp.url, session);
    expect(textOf(await session.call('one_tool', { text: 'x' }))).toBe('tool x');
    await eventually('the gateway requested its stream', () =>
      backend.seen.some(({ httpMethod }) => httpMethod === 'GET'),
    );
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(textOf(await session.call('one_tool', { text: 'y' }))).toBe('tool y');
    expect(await healthOf(vmcp, 'one')).toBe('healthy');
    expect(stream.ended()).toBe(false);
    expect(backend.count('initialize')).toBe(2);
  });
});

describe('hostile items of a list', () => {
  const long = (bytes: number) => 'x'.repeat(bytes);
  const HOSTILE: Readonly<Record<string, unknown[]>> = {
    tools: [
      null,
      7,
      'text',
      [],
      {},
      { name: 5 },
      { name: null },
      { name: '__proto__', inputSchema: null },
      { name: 'constructor' },
      { name: 'odd', inputSchema: { $ref: '#', type: ['x', 3], properties: 'none' } },
      { name: 'no-schema' },
      { name: 'tool', inputSchema: { type: 'object' } },
      { name: 'tool', description: 'again' },
    ],
    resources: [
      null,
      { uri: 3 },
      { name: 'no uri' },
      { uri: 'no scheme' },
      { uri: 'http://[::1' },
      { uri: 'ok:1', name: 'ok' },
    ],
    resourceTemplates: [
      null,
      { uriTemplate: 4 },
      { uriTemplate: `x:${'{a:9999}'.repeat(50)}`, name: 'prefixes' },
      { uriTemplate: `y:${'{a}'.repeat(500)}`, name: 'variables' },
      { uriTemplate: `z:{${long(100_000)}}`, name: 'long' },
      { uriTemplate: 'w:{unclosed', name: 'unclosed' },
      { uriTemplate: 'v:{a}', name: 'ok' },
    ],
    prompts: [null, {}, { name: false }, { name: 'ok', arguments: 'none' }],
  };

  it('are removed or forwarded unchanged; memory stays flat, and the other backend serves', async () => {
    const list =
      (member: string) =>
      ({ result }: Exchange) => {
        result({ [member]: HOSTILE[member] });
      };
    const scope = testScope();
    const bad = await startMcpServer(scope, 'bad', {
      capabilities: EVERYTHING,
      methods: {
        'tools/list': list('tools'),
        'resources/list': list('resources'),
        'resources/templates/list': list('resourceTemplates'),
        'prompts/list': list('prompts'),
        'resources/read': ({ result }) => {
          result({ contents: [] });
        },
      },
    });
    const good = await startMcpServer(scope, 'good');
    const vmcp = await gateway([entry('bad', bad.url), entry('good', good.url)], { operational: often });
    const session = await openSession(vmcp.url);
    expect(await session.tools()).toEqual([
      'bad___proto__',
      'bad_constructor',
      'bad_no-schema',
      'bad_odd',
      'bad_tool',
      'good_tool',
    ]);
    expect(textOf(await session.call('bad_constructor', { text: 'x' }))).toBe('constructor x');
    const { result } = await session.request('resources/list');
    expect(result?.['resources']).toContainEqual({ uri: 'ok:1', name: 'ok' });
    const before = usage(vmcp.pid)?.rssMb ?? 0;
    const began = performance.now();
    const uris = [
      'ok:1',
      'v:1',
      `x:${long(2_000)}`,
      `y:${'/'.repeat(2_000)}`,
      `z:${long(100_000)}`,
      'w:',
      'nowhere:1',
      '',
    ];
    for (const uri of uris) expect((await session.request('resources/read', { uri })).status).toBe(200);
    expect(performance.now() - began).toBeLessThan(5_000);
    expect((usage(vmcp.pid)?.rssMb ?? 0) - before).toBeLessThan(64);
    expect(textOf(await session.call('good_tool', { text: 'x' }))).toBe('tool x');
    expect(await healthOf(vmcp, 'bad')).toBe('healthy');
  });
});
