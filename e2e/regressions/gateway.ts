import { MCP_HEADERS, raw, rpc, type RawSession } from '../harness/clients/raw.ts';
import { entry, gatewayOver, type Manifest } from '../harness/manifests.ts';
import { printOnFailure, testScope } from '../harness/scope.ts';
import { startVmcp, type Vmcp } from '../harness/vmcp.ts';
import { startMcpServer, type McpServer, type ServerOptions } from '../faults/mcp-server.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Rare probes, which do not affect the counters of a test. */
export const rarely = { failureHandling: { healthCheckInterval: '10m', healthCheckTimeout: '30s' } };
export const often = {
  failureHandling: { healthCheckInterval: '500ms', healthCheckTimeout: '5s', unhealthyThreshold: 2 },
};

/** Starts a gateway over these backends; it ends with the test. */
export async function gateway(backends: readonly Manifest[], config: Fields = {}): Promise<Vmcp> {
  const vmcp = await startVmcp(testScope(), { files: gatewayOver(backends, config) });
  printOnFailure(vmcp.output);
  return vmcp;
}

/** Starts a gateway over one backend named `one`. */
export async function gatewayOverOne(
  options: ServerOptions = {},
  config: Fields = { operational: rarely },
): Promise<{ vmcp: Vmcp; backend: McpServer }> {
  const backend = await startMcpServer(testScope(), 'one', options);
  return { vmcp: await gateway([entry('one', backend.url)], config), backend };
}

/** Opens a session of a client with these capabilities. */
export async function sessionWith(url: string, capabilities: Fields): Promise<Pick<RawSession, 'id' | 'headers'>> {
  const params = { protocolVersion: '2025-11-25', capabilities, clientInfo: { name: 'regressions', version: '0' } };
  const answer = await raw(url, { method: 'POST', headers: MCP_HEADERS, body: rpc('initialize', params, 0) });
  const id = answer.headers['mcp-session-id'];
  if (typeof id !== 'string') throw new Error(`no session: ${answer.body}`);
  const headers = { ...MCP_HEADERS, 'mcp-session-id': id, 'mcp-protocol-version': '2025-11-25' };
  return { id, headers };
}

export const post = (url: string, { headers }: Pick<RawSession, 'headers'>, body: unknown) =>
  raw(url, { method: 'POST', headers: { ...headers }, body: JSON.stringify(body) });

export const notify = (method: string, params?: Fields) => ({ jsonrpc: '2.0', method, ...(params && { params }) });

export const request = (id: unknown, method: string, params?: Fields) => ({ id, ...notify(method, params) });

export const toolCall = (id: unknown, name: string, args: Fields = {}, meta?: Fields) =>
  request(id, 'tools/call', { name, arguments: args, ...(meta && { _meta: meta }) });
