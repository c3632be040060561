import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readAll } from 'node:stream/consumers';
import { beforeAll, describe, expect, it } from 'vitest';
import { blockScope, testScope } from '../harness/scope.ts';
import { vmcpResult, type RunOptions } from '../harness/vmcp.ts';

/** One of each kind: bidirectional controls, invisible letters, tags, line separators, and controls of C0 and C1. */
const HOSTILE =
  '\u202Eevil\u202C\u2066\u2069\u200E\u200F\u061C\u200B\u2060\uFEFF\u00AD\u{E0041}\u2028\u2029\u009B31m\u0085\u007F\u0007\u001B[8m';
const FOUND = /(?!\n|\t|\u200C|\u200D)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
/** Persian with a joiner, and a family: joiners that belong to their letters stay. */
const PLAIN = 'می\u200Cخواهم 👩\u200D👧';

const tool = { name: `evil${HOSTILE}`, description: `d${HOSTILE} ${PLAIN}`, inputSchema: { type: 'object' } };
const results: Readonly<Record<string, object>> = {
  initialize: {
    protocolVersion: '2025-06-18',
    capabilities: { tools: {} },
    serverInfo: { name: HOSTILE, version: '1' },
  },
  'tools/list': { tools: [tool, { ...tool, name: 'good' }, { ...tool, name: 'broken' }] },
};
const backend = { name: `b${HOSTILE}`, health: 'unhealthy', reason: `r${HOSTILE}` };
const documents: Readonly<Record<string, object>> = {
  '/status': {
    name: `s${HOSTILE}`,
    sessions: 1,
    backends: [backend],
    problems: [{ reason: 'X', message: `m${HOSTILE}` }],
  },
  '/api/backends/health': { backends: {} },
};

let origin = '';
const scope = blockScope();

async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const document = documents[req.url ?? ''];
  res.setHeader('content-type', 'application/json');
  if (document) return void res.end(JSON.stringify(document));
  const {
    id,
    method = '',
    params,
  } = JSON.parse((await readAll(req)) || '{}') as {
    id?: number;
    method?: string;
    params?: { name?: string };
  };
  if (id === undefined) return void res.writeHead(req.method === 'POST' ? 202 : 405).end();
  if (params?.name === 'broken') {
    const error = { code: -32_000, message: `e${HOSTILE}` };
    return void res.end(JSON.stringify({ jsonrpc: '2.0', id, error }));
  }
  const result = results[method] ?? { content: [{ type: 'text', text: `t${HOSTILE}\t${PLAIN}\n` }] };
  res.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
}

beforeAll(async () => {
  const server = createServer((req, res) => void answer(req, res));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  scope.defer(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  origin = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
});

const run = (args: readonly string[], options: RunOptions = {}) => vmcpResult(testScope(), args, options);
const session = (): string[] => ['--url', `${origin}/mcp`, '--token', 'x'];

describe.concurrent('hostile text', () => {
  it.each<[string, () => string[]]>([
    ['tools', () => ['tools', ...session()]],
    ['the text of a result', () => ['call', 'good', ...session()]],
    ['the error of a call', () => ['call', 'broken', ...session()]],
    ['an unknown tool, with its near names', () => ['call', 'evi', ...session()]],
    ['the state of servers', () => ['status', '--management', origin]],
  ])('row 106: shows %s on a terminal without characters that change it', async (_, args) => {
    const { stdout } = await run(args(), { terminal: true });
    const shown = stdout.replaceAll('\r\n', '\n'); // the terminal adds carriage returns
    expect(shown).toMatch(/\uFFFD|\\u202e/u);
    expect(FOUND.exec(shown)?.[0]).toBeUndefined();
  });

  it.each<[string, () => string[]]>([
    ['tools', () => ['tools', ...session(), '-o', 'json']],
    ['a result', () => ['call', 'good', ...session(), '-o', 'json']],
    ['the state of servers', () => ['status', '--management', origin, '-o', 'json']],
  ])('row 107: prints the JSON of %s with escapes, and with the same meaning', async (_, args) => {
    const { stdout } = await run(args());
    expect(FOUND.exec(stdout)?.[0]).toBeUndefined();
    expect(JSON.stringify(JSON.parse(stdout))).toContain(JSON.stringify(HOSTILE).slice(1, -1));
  });

  it('row 106: gives the text of a result to a program unchanged, keeps joiners of letters, and shows errors visibly', async () => {
    expect((await run(['call', 'good', ...session()])).stdout).toBe(`t${HOSTILE}\t${PLAIN}\n`);
    expect((await run(['call', 'good', ...session()], { terminal: true })).stdout).toContain(PLAIN);
    const { stderr } = await run(['call', 'broken', ...session()]);
    expect(FOUND.exec(stderr)?.[0]).toBeUndefined();
  });
});
