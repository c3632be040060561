import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { describe, expect, it } from 'vitest';
import { hostBackend } from '../../harness/backends/host.ts';
import { openSession } from '../../harness/clients/raw.ts';
import { entry, gatewayOver } from '../../harness/manifests.ts';
import { testScope } from '../../harness/scope.ts';
import { startVmcp } from '../../harness/vmcp.ts';

const REVISION = '2026-07-28';
const BANK = { type: 'string', 'x-mcp-header': 'Bank' };
const TOOLS = [
  { name: 'pay', inputSchema: { type: 'object', properties: { to: { type: 'object', properties: { bank: BANK } } } } },
  { name: 'wrong', inputSchema: { type: 'object', properties: { list: { type: 'array', items: BANK } } } },
];

const RESULTS: Readonly<Record<string, object>> = {
  'server/discover': { supportedVersions: [REVISION], capabilities: { tools: {} } },
  'tools/list': { tools: TOOLS },
  'tools/call': { content: [{ type: 'text', text: 'paid' }] },
};

/** Starts a gateway over a backend of `REVISION` with a tool that declares the header of a property of an argument. */
async function start() {
  const backend = await hostBackend(testScope(), '/mcp', (_req, res, body) => {
    const { id, method = '' } = body as { id?: unknown; method?: string };
    const result = RESULTS[method];
    const reply = result
      ? { result: { resultType: 'complete', ttlMs: 0, cacheScope: 'private', ...result } }
      : { error: { code: -32601, message: 'no' } };
    res.writeHead(200, { 'content-type': 'application/json' });
    res.end(JSON.stringify({ jsonrpc: '2.0', id, ...reply }));
    return Promise.resolve();
  });
  const files = gatewayOver([entry('bank', backend.url)], { aggregation: { conflictResolution: 'none' } });
  const { url } = await startVmcp(testScope(), { files });
  const sent = () =>
    backend.seen.filter(({ method }) => method === 'tools/call').map(({ headers }) => headers['mcp-param-bank']);
  return { url, sent };
}

describe('a tool that declares the header of a property', () => {
  it('can be called by the SDK 2.x, which sends the header, and gets it from the gateway', async () => {
    const { url, sent } = await start();
    const client = new Client({ name: 'new', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } });
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
    testScope().defer(() => client.close());
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['pay']);
    expect(client.getNegotiatedProtocolVersion()).toBe(REVISION);
    const call = { name: 'pay', arguments: { to: { bank: 'Zürich' } } };
    expect(await client.callTool(call)).toMatchObject({ content: [{ text: 'paid' }] });
    expect(sent()).toEqual([`=?base64?${Buffer.from('Zürich').toString('base64')}?=`]);
  });

  it('is not called in a session whose header contradicts the argument', async () => {
    const { url, sent } = await start();
    const session = await openSession(url);
    const pay = (bank: string, headers: Record<string, string>) => session.call('pay', { to: { bank } }, { headers });
    const lie = { error: { code: -32020, data: { mismatch: { header: 'mcp-param-bank' } } } };
    expect(await pay('evil', { 'mcp-param-bank': 'good' })).toMatchObject(lie);
    expect(await session.call('pay', {}, { headers: { 'mcp-param-bank': 'good' } })).toMatchObject(lie);
    expect((await pay('good', { 'mcp-param-bank': 'good' })).result).toMatchObject({ content: [{ text: 'paid' }] });
    expect((await pay('good', {})).result).toMatchObject({ content: [{ text: 'paid' }] });
    expect(sent()).toEqual(['good', 'good']);
  });
});
