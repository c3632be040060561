import { expect, it } from 'vitest';
import { startModernConformanceServer } from '../../conformance/fixture/modern/host.ts';
import { MCP_HEADERS, raw, rpc, rpcReply } from '../../harness/clients/raw.ts';
import { entry, gatewayOver } from '../../harness/manifests.ts';
import { testScope } from '../../harness/scope.ts';
import { startVmcp } from '../../harness/vmcp.ts';

/** Calls a tool like a client whose transport knows only 2025-11-25. */
async function call(url: string, name: string, headers: Record<string, string> = {}, padding = 0) {
  const params = {
    name: 'test_simple_text',
    arguments: {},
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name, version: '1.0.0' },
      'io.modelcontextprotocol/clientCapabilities': {},
      'com.example/padding': 'x'.repeat(padding),
    },
  };
  const sent = { ...MCP_HEADERS, 'mcp-protocol-version': '2025-11-25', ...headers };
  return rpcReply(await raw(url, { method: 'POST', headers: sent, body: rpc('tools/call', params) }));
}

it('accepts a header of 2025-11-25 over a body of 2026-07-28 from the named clients only, and warns once', async () => {
  const { url: backend } = await startModernConformanceServer(testScope(), { legacy: false });
  const config = { olderVersionHeaderClients: ['old-desk'], aggregation: { conflictResolution: 'none' } };
  const { url, output } = await startVmcp(testScope(), { files: gatewayOver([entry('new', backend)], config) });
  expect(await call(url, 'old-desk')).toMatchObject({ status: 200, result: { resultType: 'complete' } });
  expect(await call(url, 'old-desk', {}, 1_200_000)).toMatchObject({ status: 200, result: {} });
  expect(await call(url, 'desk')).toMatchObject({ status: 400, error: { code: -32020 } });
  const other = { 'mcp-method': 'tools/call', 'mcp-name': 'test_error_handling' };
  expect(await call(url, 'old-desk', other)).toMatchObject({ status: 400, error: { code: -32020 } });
  const warnings = output().match(/.*version header that is older than its requests.*/gu);
  expect(warnings).toHaveLength(1);
  expect(warnings?.[0]).toContain('old-desk');
});
