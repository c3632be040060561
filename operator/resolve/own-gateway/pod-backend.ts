import type { Backend } from '../../../gateway/contract/gateway-config.ts';
import { hostHeaderOf } from '../backends/server-backend.ts';
import type { MCPServer } from '../snapshot.ts';

/** Container of the server in its pod. */
export const SERVER_CONTAINER = 'mcp';
const DEFAULT_PORT = 8080;

/** Returns the port on which a server that speaks HTTP listens. */
export const listeningPort = ({ mcpPort = DEFAULT_PORT }: MCPServer['spec']): number => mcpPort;

/** Returns the name of the single pod of a stdio server. */
export const stdioPod = ({ metadata: { name } }: MCPServer): string => `mcp-${name}-0`;

/** Returns the server as the gateway in its own pod reaches it: through its standard streams or over loopback. */
export function podBackend(server: MCPServer): Backend {
  const { name } = server.metadata;
  const { transport = 'stdio' } = server.spec;
  if (transport === 'stdio') {
    const attach = { container: SERVER_CONTAINER, pod: stdioPod(server) };
    return { name, transport, attach, isolation: 'shared' };
  }
  const path = transport === 'sse' ? '/sse' : '/mcp';
  const url = `http://127.0.0.1:${String(listeningPort(server.spec))}${path}`;
  return { name, transport, url, per_replica: true, ...hostHeaderOf(server.spec) };
}
