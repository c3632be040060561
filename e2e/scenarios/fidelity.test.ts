import type { ServerResponse } from 'node:http';
import { beforeAll, describe, expect, it } from 'vitest';
import { hostBackend, type Handle, type HttpBackend } from '../harness/backends/host.ts';
import { startHttpBackend } from '../harness/backends/http.ts';
import { CLIENTS } from '../harness/clients/index.ts';
import { openSession, raw, textOf, type RawSession } from '../harness/clients/raw.ts';
import { entry, gatewayOver } from '../harness/manifests.ts';
import { eventually } from '../harness/poll.ts';
import { blockScope } from '../harness/scope.ts';
import { startVmcp, type Vmcp } from '../harness/vmcp.ts';

/** A tool with bytes that parsing and serialising changes: numbers, unknown members, escapes, order, white space. */
const TOOL = `{"name":"odd","title":"Odd  tool","inputSchema":{"type":"object","properties":{"n":{"type":"number","maximum":9007199254740993}}},"icons":[{"src":"data:image/png;base64,AA==","sizes":["1x1"]}],"annotations":{"readOnlyHint":true,"x-own":1.0},"_meta":{"com.example/a":1e400},"x-unknown":{"z":1,"a":-0}}`;
const RESULT = String.raw`{"content":[{"type":"text","text":"\ud83d\ude42 \ud800 \u0000 A","_meta":{"k":[1.0,1E5,12345678901234567890]}},{"type":"x-new-kind","payload":{"b":1,"a":2}}],"isError":false,"_meta":{"com.example/trace":"t"},"x-extra":null}`;

const ERROR = '{"code":-32042,"message":"URL elicitation required","data":{"elicitations":[{"url":"https://x"}]}}';

interface Message {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: { readonly arguments?: { readonly fail?: unknown } };
}

const answer = (res: ServerResponse, { id }: Message, outcome: string, status = 200): void => {
  const text = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},${outcome}}`;
  res.writeHead(status, { 'content-type': 'application/json' }).end(text);
};

const initializeResult = (name: string, capabilities: string, more = ''): string =>
  `"result":{"protocolVersion":"2025-06-18","capabilities":${capabilities},"serverInfo":{"name":"${name}","version":"0"}${more}}`;

/** A backend without a library: every byte of its answers is known. */
const odd: Handle = async (req, res, body) => {
  const message = (body ?? {}) as Message;
  if (message.method === 'initialize') answer(res, message, initializeResult('odd', '{"tools":{}}'));
  else if (message.method === 'tools/list')
    answer(res, message, `"result":{"tools":[${TOOL},null,{"name":5},{"title":"nameless"}]}`);
  else if (message.method === 'ping') answer(res, message, '"result":{}');
  else if (message.method !== 'tools/call') res.writeHead(req.method === 'POST' ? 202 : 405).end();
  else if (message.params?.arguments?.fail === true) answer(res, message, `"error":${ERROR}`);
  else answer(res, message, `"result":${RESULT}`);
};

/** A backend that declares capabilities that it does not have, like some real servers. */
const liar: Handle = async (req, res, body) => {
  const message = (body ?? {}) as Message;
  const declared = '{"tools":{"listChanged":true},"resources":{"subscribe":true},"prompts":{}}';
  if (req.method === 'GET') res.writeHead(400).end('no stream here');
  else if (message.method === 'initialize') answer(res, message, initializeResult('liar', declared));
  else if (message.method === 'tools/list')
    answer(res, message, '"result":{"tools":[{"name":"fib","inputSchema":{"type":"object"}}]}');
  else if (message.method === 'ping') answer(res, message, '"result":{}');
  else if (message.method === 'resources/list')
    answer(res, message, '"error":{"code":-32601,"message":"Method not found"}', 404);
  else if (message.method === 'resources/templates/list') res.writeHead(429).end('slow down');
  else if (message.method === 'prompts/list') res.writeHead(405).end();
  else res.writeHead(202).end();
};

const HOSTILE = {
  'tools/list': {
    tools: [
      null,
      [],
      { name: 'x', inputSchema: 5 },
      { name: 'ok', inputSchema: { type: 'object' } },
      {
        name: 'null',
        title: null,
        description: null,
        inputSchema: null,
        outputSchema: null,
        annotations: null,
        icons: null,
      },
      { name: 'bare', description: 'cut \ud83d' },
      {
        name: 'pattern',
        inputSchema: { type: 'object', properties: { a: true } },
        outputSchema: { type: 'object', properties: { a: { type: 'string', pattern: '(?P<x>a)' } } },
      },
    ],
  },
  'resources/list': {
    resources: [
      null,
      { uri: 7, name: 'n' },
      { uri: 'not a uri', name: 'n' },
      { uri: 'hostile://ok', name: 'ok', mimeType: null, size: null, annotations: { lastModified: 'today' } },
    ],
  },
  'resources/templates/list': {
    resourceTemplates: [
      null,
      { uriTemplate: `hostile://${'x'.repeat(5_000)}/{id}`, name: 'long' },
      { uriTemplate: `hostile://p/${'{a:9999}'.repeat(40)}`, name: 'prefixes' },
      { uriTemplate: 'hostile://{unclosed', name: 'unclosed' },
      { uriTemplate: 'hostile://item/{id}', name: 'ok' },
    ],
  },
  'prompts/list': { prompts: [null, { name: 7 }, { name: 'ok', arguments: null }] },
  'resources/read': { contents: [{ uri: 'hostile://item/1', mimeType: null, text: 'one' }] },
  'tools/call': { content: [{ type: 'text', text: 'ok', annotations: { audience: null } }], structuredContent: null },
} as const;

/** A backend with invalid items in its lists. */
const hostile: Handle = async (req, res, body) => {
  const message = (body ?? {}) as Message;
  const result = Object.entries(HOSTILE).find(([method]) => method === message.method)?.[1];
  if (message.method === 'initialize') {
    const capabilities = '{"tools":{},"resources":{},"prompts":{}}';
    answer(res, message, initializeResult('hostile', capabilities, ',"instructions":"Call ok first."'));
  } else if (result !== undefined) answer(res, message, `"result":${JSON.stringify(result)}`);
  else if (message.method === 'ping') answer(res, message, '"result":{}');
  else res.writeHead(req.method === 'POST' ? 202 : 405).end();
};

const scope = blockScope();
let backend: HttpBackend;
let vmcp: Vmcp;
let session: RawSession;

beforeAll(async () => {
  backend = await hostBackend(scope, '/mcp', odd);
  const other = await startHttpBackend(scope, 'sdk-1-stateful', 'alpha');
  const { url } = await hostBackend(scope, '/mcp', liar);
  const bad = await hostBackend(scope, '/mcp', hostile);
  const entries = [entry('odd', backend.url), entry('alpha', other.url), entry('liar', url), entry('hostile', bad.url)];
  const files = gatewayOver(entries);
  vmcp = await startVmcp(scope, { files });
  session = await openSession(vmcp.url);
});

describe('the gateway forwards the answers of a backend:', () => {
  it('lists tools byte for byte except for the name, without invalid items', async () => {
    const { text } = await session.request('tools/list');
    expect(text).toContain(TOOL.replace('"odd"', '"odd_odd"'));
    expect(text).not.toMatch(/nameless|null,/);
  });

  it('results byte for byte', async () => {
    const { text } = await session.call('odd_odd');
    expect(text).toContain(RESULT);
  });

  it('errors with code, message and data', async () => {
    const { error } = await session.call('odd_odd', { fail: true });
    expect(error).toEqual({
      code: -32042,
      message: 'URL elicitation required',
      data: { elicitations: [{ url: 'https://x' }] },
    });
  });
});

describe('the gateway forwards the requests of a client:', () => {
  it('arguments byte for byte, with the original name of the tool', async () => {
    const args = '{"n":9007199254740993,"exact":1.10,"text":"\\u00fc\\ud800","nested":{"b":1,"a":[1e400]}}';
    await session.post(
      `{"jsonrpc":"2.0","id":"s-1","method":"tools/call","params":{"name":"odd_odd","arguments":${args}}}`,
    );
    const { body } = backend.seen.findLast(({ method }) => method === 'tools/call')!;
    expect(body).toContain(args);
    expect(JSON.parse(body)).toMatchObject({ method: 'tools/call', params: { name: 'odd' } });
  });

  it.each(['"text"', '0', '-7', '9007199254740991', '""'])('returns the id %s unchanged', async (id) => {
    const { body } = await session.post(`{"jsonrpc":"2.0","id":${id},"method":"ping"}`);
    expect(body).toContain(`"id":${id}`);
  });

  it('no headers', async () => {
    await session.call(
      'liar_odd',
      {},
      { headers: { authorization: 'Bearer canary', cookie: 'a=canary', 'x-private': 'canary' } },
    );
    const { headers } = backend.seen.findLast(({ method }) => method === 'tools/call')!;
    expect(JSON.stringify(headers)).not.toContain('canary');
  });
});

describe('a backend with wrong capabilities', () => {
  it('is healthy, and its tools are listed', async () => {
    expect(await session.tools()).toEqual(expect.arrayContaining(['liar_fib', 'alpha_echo']));
    await eventually('liar is healthy', async () => {
      const { body } = await raw(`${vmcp.management}/status`);
      return (JSON.parse(body) as { backends: { name: string; health: string }[] }).backends.some(
        ({ name, health }) => name === 'liar' && health === 'healthy',
      );
    });
  });

  it('does not affect the lists of the others', async () => {
    const list = async (method: string) => (await session.request(method)).text;
    expect(await list('resources/list')).toContain('fixture://alpha/greeting');
    expect(await list('resources/templates/list')).toContain('fixture://alpha/item/{id}');
    expect(await list('prompts/list')).toContain('"alpha_greet"');
  });
});

describe('a backend with invalid list items', () => {
  it('loses only the invalid items', async () => {
    expect(await session.tools()).toContain('hostile_ok');
    const list = async (method: string, member: string) =>
      (await session.request(method)).result?.[member] as Record<string, unknown>[];
    expect((await list('resources/list', 'resources')).map(({ uri }) => uri)).toContain('hostile://ok');
    const templates = (await list('resources/templates/list', 'resourceTemplates')).map(({ name }) => name);
    expect(templates).toContain('ok');
    expect(templates).not.toContain('long');
    expect(templates).not.toContain('prefixes');
    expect((await list('prompts/list', 'prompts')).map(({ name }) => name)).toContain('hostile_ok');
  });

  it.each(CLIENTS)('hides nothing of the others from %s, nor its own', async (_name, run) => {
    const { initialize, outcomes } = await run({ transport: 'streamable-http', url: vmcp.url }, [
      { op: 'tools' },
      { op: 'resources' },
      { op: 'templates' },
      { op: 'prompts' },
      { op: 'call', name: 'hostile_null', args: {} },
      { op: 'read', uri: 'hostile://item/1' },
    ]);
    expect(outcomes.filter(({ ok }) => !ok)).toEqual([]);
    const [tools, resources] = outcomes.map((outcome) => JSON.stringify(outcome));
    for (const name of ['alpha_echo', 'hostile_null', 'hostile_bare', 'hostile_pattern', 'odd_odd'])
      expect(tools).toContain(`"${name}"`);
    expect(resources).toContain('"hostile://ok"');
    expect(initialize.capabilities).toMatchObject({ resources: { subscribe: true } });
    expect(initialize.instructions).toMatch(/^# alpha\n\n.*\n\n# hostile\n\nCall ok first\.$/u);
  });

  it('is a problem that names backend, item and member', async () => {
    const { body } = await raw(`${vmcp.management}/status`);
    const { problems } = JSON.parse(body) as { problems: { reason: string; message: string }[] };
    const texts = problems.map(({ reason, message }) => `${reason}: ${message}`);
    for (const text of [
      'ItemRepaired: "description" of tools of "hostile" is null and is left out: "null"',
      'ItemRepaired: "inputSchema" of tools of "hostile" is missing and becomes {"type":"object"}: "bare"',
      'MalformedItem: "inputSchema" of tools of "hostile" is no object, so they are left out: "x"',
      'MalformedItem: "uri" of resources of "hostile" is no URI (RFC 3986), so they are left out: "not a uri"',
      'ResultRepaired: "structuredContent" of results of "hostile" is null and is left out: "hostile_null"',
    ])
      expect(texts).toContain(text);
  });

  it('is found by its valid template', async () => {
    const { result } = await session.request('resources/read', { uri: 'hostile://item/1' });
    expect(result).toMatchObject({ contents: [{ text: 'one' }] });
  });

  it('answers a URI of 100,000 characters within 5 s', async () => {
    const began = performance.now();
    const { error } = await session.request('resources/read', { uri: `hostile://p/${'a'.repeat(100_000)}` });
    expect(error).toMatchObject({ code: -32002 });
    expect(performance.now() - began).toBeLessThan(5_000);
  });
});

describe('concurrent requests', () => {
  it('with the same id in one session each get their own answer', async () => {
    const ask = (text: string) =>
      session.post(
        JSON.stringify({
          jsonrpc: '2.0',
          id: 7,
          method: 'tools/call',
          params: { name: 'alpha_echo', arguments: { text } },
        }),
      );
    const words = Array.from({ length: 20 }, (_, at) => `word ${at}`);
    const answers = await Promise.all(words.map(ask));
    expect(answers.map(({ body }, at) => body.includes(`"${words[at]!}"`))).toEqual(words.map(() => true));
  });

  it('of many sessions each get their own answer', async () => {
    const sessions = await Promise.all(Array.from({ length: 15 }, () => openSession(vmcp.url)));
    const echoes = await Promise.all(
      sessions.map(async (own, at) => textOf(await own.call('alpha_echo', { text: `session ${at}` }))),
    );
    expect(echoes).toEqual(sessions.map((_, at) => `session ${at}`));
    await Promise.all(sessions.map((own) => own.end()));
  });
});
