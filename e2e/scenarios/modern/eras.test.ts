import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { gatewayOverFixture } from '../../conformance/gateway.ts';
import { stateful } from '../../conformance/fixture/host.ts';
import { startModernConformanceServer } from '../../conformance/fixture/modern/host.ts';
import { hostBackend } from '../../harness/backends/host.ts';
import { MCP_HEADERS, openSession, raw, rpc, rpcReply, textOf } from '../../harness/clients/raw.ts';
import { entry, gatewayOver } from '../../harness/manifests.ts';
import { eventually } from '../../harness/poll.ts';
import { testScope } from '../../harness/scope.ts';
import { startVmcp } from '../../harness/vmcp.ts';

const REVISION = '2026-07-28';

/** Starts a gateway over a server of 2026-07-28 only. */
async function gatewayOverModern(): Promise<string> {
  const { url } = await startModernConformanceServer(testScope(), { legacy: false });
  return gatewayOverFixture(testScope(), entry('new', url));
}

async function discover(url: string) {
  const headers = { ...MCP_HEADERS, 'mcp-protocol-version': REVISION, 'mcp-method': 'server/discover' };
  const meta = {
    'io.modelcontextprotocol/protocolVersion': REVISION,
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  return rpcReply(await raw(url, { method: 'POST', headers, body: rpc('server/discover', { _meta: meta }) }));
}

describe('a client of 2025-11-25 over a server of 2026-07-28', () => {
  it('gets a session although it has discovered the newer revision before', async () => {
    const url = await gatewayOverModern();
    expect(await discover(url)).toMatchObject({ status: 200, result: { resultType: 'complete' } });
    const session = await openSession(url);
    expect(session.initialized).toMatchObject({ status: 200, result: { protocolVersion: '2025-11-25' } });
    expect(textOf(await session.call('test_simple_text'))).toContain('simple text');
  });

  it('never sees members of the newer revision', async () => {
    const session = await openSession(await gatewayOverModern());
    const replies = await Promise.all([
      session.request('tools/list'),
      session.request('resources/list'),
      session.request('resources/templates/list'),
      session.request('prompts/list'),
      session.request('resources/read', { uri: 'test://static-text' }),
      session.request('prompts/get', { name: 'test_simple_prompt' }),
      session.request('completion/complete', {
        ref: { type: 'ref/prompt', name: 'test_prompt_with_arguments' },
        argument: { name: 'arg1', value: 'par' },
      }),
      session.call('test_simple_text'),
      session.call('test_error_handling'),
    ]);
    for (const { result, text } of [session.initialized, ...replies]) {
      expect(result, text).toBeDefined();
      expect(text).not.toMatch(/resultType|ttlMs|cacheScope|io\.modelcontextprotocol/u);
    }
  });
});

/** Answers that servers of older revisions give to `server/discover`. */
const ANSWERS: Readonly<Record<string, (res: ServerResponse) => unknown>> = {
  'internal-error': (res) =>
    res
      .writeHead(200, { 'content-type': 'application/json' })
      .end('{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Internal error"}}'),
  'not-found': (res) => res.writeHead(404).end(),
  'not-allowed': (res) => res.writeHead(405, { allow: 'GET' }).end(),
  'plain-text': (res) => res.writeHead(400, { 'content-type': 'text/plain' }).end('Bad Request: no session id'),
};

it('opens a session with a server that does not know server/discover, however it says so', async () => {
  const names = Object.keys(ANSWERS);
  const backends = await Promise.all(
    Object.entries(ANSWERS).map(async ([name, answer]) => {
      const older = stateful();
      const { url, seen } = await hostBackend(testScope(), '/mcp', async (req, res, body) => {
        const discovers = (body as { method?: string } | undefined)?.method === 'server/discover';
        await (discovers ? answer(res) : older(req, res, body));
      });
      return { name, seen, manifest: entry(name, url) };
    }),
  );
  const vmcp = await startVmcp(testScope(), { files: gatewayOver(backends.map(({ manifest }) => manifest)) });
  const session = await openSession(vmcp.url);
  const called = names.map((name) => `${name}_test_simple_text`);
  await eventually('every server is listed', async () => {
    const tools = await session.tools();
    return called.every((name) => tools.includes(name));
  });
  for (const name of called) expect(textOf(await session.call(name))).toContain('simple text');
  const { backends: statuses } = JSON.parse((await raw(`${vmcp.management}/status`)).body) as { backends: object[] };
  const expected = names.map((name) => expect.objectContaining({ name, mcp_revision: '2025-11-25' }) as object);
  expect(statuses).toEqual(expect.arrayContaining(expected));
  for (const { name, seen } of backends) {
    const methods = seen.map(({ method }) => method);
    expect(methods[0], name).toBe('server/discover');
    expect(methods.filter((method) => method === 'initialize').length, name).toBeGreaterThan(1);
    expect(methods.lastIndexOf('server/discover'), `${name} was asked again`).toBe(0);
  }
});
