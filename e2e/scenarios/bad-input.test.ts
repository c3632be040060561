import { beforeAll, describe, expect, it } from 'vitest';
import { startHttpBackend } from '../harness/backends/http.ts';
import type { HttpBackend } from '../harness/backends/host.ts';
import {
  initializeRequest,
  MCP_HEADERS,
  openSession,
  raw,
  rpc,
  rpcReply,
  type RawRequest,
  type RawResponse,
  type RawSession,
} from '../harness/clients/raw.ts';
import { entry, gatewayOver } from '../harness/manifests.ts';
import { blockScope } from '../harness/scope.ts';
import { startVmcp, type Vmcp } from '../harness/vmcp.ts';

const scope = blockScope();
const MIB = 1024 * 1024;
/** Timeout of a rejection: a hanging request fails the test. */
const PROMPT_MS = 5_000;

let backend: HttpBackend;
let vmcp: Vmcp;
let session: RawSession;

beforeAll(async () => {
  backend = await startHttpBackend(scope, 'sdk-1-stateful', 'alpha');
  vmcp = await startVmcp(scope, { files: gatewayOver([entry('alpha', backend.url)]) });
  session = await openSession(vmcp.url);
  await session.tools();
});

/** Sends a request and checks that the answer is prompt and contains no stack trace or path of the gateway. */
async function send(request: RawRequest, path = '/mcp'): Promise<RawResponse> {
  const answer = await raw(vmcp.origin + path, { timeoutMs: PROMPT_MS, ...request });
  expect(answer.body).not.toMatch(/\bat .*:\d+:\d+|node_modules|\.ts:\d+|\/work\//);
  expect(answer.headers['x-powered-by']).toBeUndefined();
  return answer;
}

const post = (body: string | Buffer, headers: Record<string, string> = {}, more: RawRequest = {}) =>
  send({ method: 'POST', body, ...more, headers: { ...session.headers, ...headers } });

const refusal = (answer: RawResponse) => ({ status: answer.status, code: rpcReply(answer).error?.code });

describe('rejects a body with 400:', () => {
  const INVALID = -32600;
  const deep = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
  it.each([
    ['half a message', '{"jsonrpc":"2.0","id":1,"method":"tools/list"', -32700],
    ['no JSON', 'tools/list', -32700],
    ['an empty body', '', -32700],
    ['two values', `${rpc('tools/list')}${rpc('tools/list')}`, -32700],
    ['a byte order mark', `\uFEFF${rpc('tools/list')}`, -32700],
    ['a batch', `[${rpc('tools/list')},${rpc('tools/list', {}, 2)}]`, INVALID],
    ['an empty batch', '[]', INVALID],
    ['a string', '"tools/list"', INVALID],
    ['null', 'null', INVALID],
    ['no version', '{"id":1,"method":"tools/list"}', INVALID],
    ['another version', '{"jsonrpc":"1.0","id":1,"method":"tools/list"}', INVALID],
    ['a method that is a number', '{"jsonrpc":"2.0","id":1,"method":5}', INVALID],
    ['an id that is an object', '{"jsonrpc":"2.0","id":{},"method":"tools/list"}', INVALID],
    ['an id that is null', '{"jsonrpc":"2.0","id":null,"method":"tools/list"}', INVALID],
    ['an id that is a fraction', '{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}', INVALID],
    ['an id beyond 2^53', '{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}', INVALID],
    ['neither method nor result', '{"jsonrpc":"2.0","id":1}', INVALID],
    ['a member twice', '{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}', INVALID],
    ['a member twice in another case', '{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/list"}', INVALID],
    [
      '201 levels',
      rpc('tools/call').replace('}', `,"params":{"name":"alpha_echo","arguments":{"x":${deep(201)}}}}`),
      INVALID,
    ],
  ])('%s', async (_what, body, code) => {
    expect(refusal(await post(body))).toEqual({ status: 400, code });
  });

  it('params that are a string', async () => {
    const answer = await post('{"jsonrpc":"2.0","id":"mine","method":"tools/list","params":"all"}');
    expect(refusal(answer)).toEqual({
      status: 400,
      code: expect.toSatisfy((value) => value === -32600 || value === -32602) as unknown,
    });
    expect(JSON.parse(answer.body)).toMatchObject({ id: 'mine' });
  });

  it('invalid UTF-8', async () => {
    const body = Buffer.concat([
      Buffer.from('{"jsonrpc":"2.0","id":1,"method":"tools/'),
      Buffer.from([0xff, 0xfe]),
      Buffer.from('"}'),
    ]);
    expect((await post(body)).status).toBe(400);
  });
});

describe('rejects a body over 8 MiB with 413', () => {
  const big = Buffer.concat([Buffer.from('{"x":"'), Buffer.alloc(9 * MIB, 'x'), Buffer.from('"}')]);

  it('with a Content-Length', async () => {
    expect((await post(big)).status).toBe(413);
  });

  it('in chunks', async () => {
    expect((await post(big, {}, { chunked: true, timeoutMs: 10_000 })).status).toBe(413);
  });

  it('but accepts a body just below the limit', async () => {
    const text = 'x'.repeat(7.5 * MIB);
    const answer = await post(
      rpc('tools/call', { name: 'alpha_big', arguments: { bytes: 1, text } }),
      {},
      { timeoutMs: 20_000 },
    );
    expect(answer.status).toBe(200);
  });
});

describe('rejects a body over 1 MiB without a valid session before reading it', () => {
  const long = `[${'[],'.repeat(MIB)}`;
  const missing = { ...MCP_HEADERS, 'content-type': 'application/json' };

  it('with 400 -32600 without a session id', async () => {
    const answer = await send({ method: 'POST', body: long, headers: missing });
    expect(refusal(answer)).toEqual({ status: 400, code: -32600 });
    expect(answer.body).toContain('Mcp-Session-Id');
  });

  it('with 404 for an unknown session', async () => {
    expect((await post(long, { 'mcp-session-id': 'unknown' })).status).toBe(404);
  });

  it('but reads a body with a valid session', async () => {
    expect(refusal(await post(long))).toEqual({ status: 400, code: -32700 });
  });
});

describe('a session', () => {
  it.each([
    ['POST', rpc('tools/list'), MCP_HEADERS],
    ['GET', undefined, { accept: 'text/event-stream' }],
    ['DELETE', undefined, {}],
  ])('with an unknown id gets 404 text/plain for %s', async (method, body, headers) => {
    const request = { method, headers: { ...headers, 'mcp-session-id': '7c7d6ad0-0000-4000-8000-000000000000' } };
    const answer = await send({ ...request, ...(body !== undefined && { body }) });
    expect(answer.status).toBe(404);
    expect(answer.headers['content-type']).toMatch(/^text\/plain/);
  });

  it('with any unknown id gets the same bytes', async () => {
    const ask = (id: string) =>
      send({ method: 'POST', body: rpc('tools/list'), headers: { ...MCP_HEADERS, 'mcp-session-id': id } });
    const answers = await Promise.all(['a', 'x'.repeat(4_000), '../../etc/passwd', session.id.toUpperCase()].map(ask));
    const [first] = answers;
    for (const { status, body } of answers) expect({ status, body }).toEqual({ status: 404, body: first?.body });
  });

  it('without an id gets 400 -32600 with the name of the header', async () => {
    const answer = await send({ method: 'POST', body: rpc('tools/list'), headers: MCP_HEADERS });
    expect(refusal(answer)).toEqual({ status: 400, code: -32600 });
    expect(rpcReply(answer).error?.message).toMatch(/mcp-session-id/i);
  });

  it('ends with DELETE; a second DELETE gets 404', async () => {
    const own = await openSession(vmcp.url);
    expect([200, 204]).toContain((await own.end()).status);
    expect((await own.post(rpc('tools/list'))).status).toBe(404);
    expect((await own.end()).status).toBe(404);
  });

  it('still works after all rejected requests', async () => {
    expect((await session.call('alpha_echo', { text: 'still here' })).result).toMatchObject({
      content: [{ text: 'still here' }],
    });
  });
});

describe('rejects a request when', () => {
  it.each(['evil.example', 'evil.example:4483', '127.0.0.1.evil.example', 'localhost.evil.example'])(
    'its Host is %s (403)',
    async (host) => {
      const answer = await send({ method: 'POST', body: initializeRequest(), headers: { ...MCP_HEADERS, host } });
      expect(answer.status).toBe(403);
    },
  );

  it.each([
    ...['https://evil.example', 'null', 'http://localhost.evil.example', 'https://evil.example:443'],
    ...['http://localhost:5173', 'http://127.0.0.1', 'http://[::1]:1'],
  ])('its Origin is %s (403)', async (origin) => {
    const answer = await send({ method: 'POST', body: initializeRequest(), headers: { ...MCP_HEADERS, origin } });
    expect(answer.status).toBe(403);
  });

  it.each(['application/json', 'text/html', 'image/png'])('its Accept is %s (406)', async (accept) => {
    expect((await post(rpc('tools/list'), { accept })).status).toBe(406);
  });

  it('a GET does not accept an event stream (406)', async () => {
    expect((await send({ headers: { 'mcp-session-id': session.id, accept: 'application/json' } })).status).toBe(406);
  });

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp', 'multipart/form-data'])(
    'its content type is %s (415)',
    async (type) => {
      expect((await post(rpc('tools/list'), { 'content-type': type })).status).toBe(415);
    },
  );

  it.each(['PUT', 'PATCH', 'TRACE'])('its method is %s (405 with Allow)', async (method) => {
    const answer = await send({ method, headers: session.headers });
    expect(answer.status).toBe(405);
    expect(answer.headers.allow?.split(/,\s*/).sort()).toEqual(expect.arrayContaining(['DELETE', 'GET', 'POST']));
  });

  it('a GET has a body (400)', async () => {
    const headers = { 'mcp-session-id': session.id, accept: 'text/event-stream', 'content-type': 'application/json' };
    expect((await send({ headers, body: rpc('tools/list') })).status).toBe(400);
  });

  it.each(['1999-01-01', 'latest', ''])('its MCP-Protocol-Version is "%s" (400)', async (version) => {
    expect((await post(rpc('tools/list'), { 'mcp-protocol-version': version })).status).toBe(400);
  });

  it('its headers are longer than 64 KiB (431)', async () => {
    expect((await post(rpc('tools/list'), { 'x-long': 'x'.repeat(70_000) })).status).toBe(431);
  });
});

describe('accepts a request when', () => {
  it.each(['localhost', '127.0.0.1', '[::1]'])('its Host is the loopback name %s', async (name) => {
    const headers = { ...MCP_HEADERS, host: `${name}:${vmcp.port}` };
    expect((await send({ method: 'POST', body: initializeRequest(), headers })).status).toBe(200);
  });

  it.each(['localhost', '127.0.0.1'])('its Origin is that of the endpoint with the name %s', async (name) => {
    const headers = { ...MCP_HEADERS, origin: `http://${name}:${vmcp.port}` };
    expect((await send({ method: 'POST', body: initializeRequest(), headers })).status).toBe(200);
  });

  it.each(['*/*', 'application/*, text/*', 'text/event-stream;q=0.5, application/json'])(
    'its Accept is %s',
    async (accept) => {
      expect((await post(rpc('ping'), { accept })).status).toBe(200);
    },
  );

  it('its content type has a charset', async () => {
    expect((await post(rpc('ping'), { 'content-type': 'application/json; charset=utf-8' })).status).toBe(200);
  });

  it('its path ends in a slash', async () => {
    const answer = await send({ method: 'POST', body: initializeRequest(), headers: MCP_HEADERS }, '/mcp/');
    expect(answer.status).toBe(200);
  });

  it('it is a notification: 202 without a body', async () => {
    const answer = await post(
      '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}',
    );
    expect({ status: answer.status, body: answer.body }).toEqual({ status: 202, body: '' });
  });
});

describe('an unknown path', () => {
  it.each([
    '/',
    '/mcp/x',
    '/api/v1beta/workloads',
    '/console/',
    '/.well-known/oauth-protected-resource',
    '/.well-known/oauth-authorization-server',
    '/..%2f..%2fetc/passwd',
    '/%00',
  ])('gets 404 with JSON: %s', async (path) => {
    const answer = await send({}, path);
    expect(answer.status).toBe(404);
    expect(JSON.parse(answer.body)).toEqual(expect.any(Object));
  });

  it('the management paths are not on the public listener', async () => {
    for (const path of ['/status', '/metrics', '/api/backends/health']) expect((await send({}, path)).status).toBe(404);
  });
});

describe('a method', () => {
  const error = async (method: string, params?: unknown) => (await session.request(method, params)).error;

  it('with an unknown name gets -32601', async () => {
    expect(await error('tools/destroy')).toMatchObject({ code: -32601 });
  });

  it.each([
    ['tools/call', {}],
    ['tools/call', { name: 5 }],
    ['tools/call', { name: '' }],
    ['tools/call', { name: 'alpha_echo', arguments: 'text' }],
    ['tools/call', { name: 'alpha_echo', arguments: [1] }],
    ['prompts/get', { name: 'no-such-prompt' }],
    ['prompts/get', {}],
    ['resources/read', {}],
    ['resources/read', { uri: 7 }],
    ['completion/complete', {}],
    ['completion/complete', { ref: { type: 'ref/else' }, argument: { name: 'a', value: 'b' } }],
    ['tools/list', { cursor: 'not-a-cursor' }],
    ['tools/list', { cursor: '' }],
    ['tools/list', { cursor: 5 }],
    ['resources/list', { cursor: 'x'.repeat(600) }],
    ['logging/setLevel', { level: 'shout' }],
  ])('%s with %j gets -32602', async (method, params) => {
    expect(await error(method, params)).toMatchObject({ code: -32602 });
  });

  it('resources/read of an unknown URI gets -32002 with the URI', async () => {
    expect(await error('resources/read', { uri: 'nothing://here' })).toMatchObject({
      code: -32002,
      data: { uri: 'nothing://here' },
    });
  });

  it('completion of an unknown prompt returns no values', async () => {
    const ref = { type: 'ref/prompt', name: 'no-such-prompt' };
    const { result } = await session.request('completion/complete', { ref, argument: { name: 'a', value: 'b' } });
    expect(result).toMatchObject({ completion: { values: [] } });
  });
});

it('forwards none of the rejected requests to the backend', () => {
  const methods = new Set(backend.seen.map(({ method }) => method));
  expect([...methods].filter((method) => method === 'tools/destroy' || method === 'resources/read')).toEqual([]);
});
