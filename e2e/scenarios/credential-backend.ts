import type { IncomingHttpHeaders } from 'node:http';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { decodeJwt } from 'jose';
import { hostBackend, type Handle, type HttpBackend } from '../harness/backends/host.ts';
import type { Scope } from '../harness/scope.ts';

/** An MCP server that records the credentials it receives and can reject them. */
export interface CredentialBackend extends HttpBackend {
  /** Returns true for requests that get 401. The JSON-RPC method is undefined for GET and DELETE. */
  refuses: (headers: IncomingHttpHeaders, method: string | undefined) => boolean;
}

/** Returns the bearer token of a request. */
export const bearerOf = (headers: IncomingHttpHeaders): string | undefined =>
  /^Bearer (\S+)$/u.exec(headers.authorization ?? '')?.[1];

function whoami(name: string, headers: IncomingHttpHeaders): McpServer {
  const server = new McpServer({ name, version: '1.0.0' });
  server.registerTool('whoami', { description: 'Tells who calls.' }, () => {
    const token = bearerOf(headers);
    const seen = { ...(token !== undefined && claimsOf(token)), key: headers['x-api-key'] };
    return { content: [{ type: 'text', text: JSON.stringify(seen) }] };
  });
  return server;
}

function claimsOf(token: string): object {
  try {
    const { sub, aud } = decodeJwt(token);
    return { sub, aud };
  } catch {
    return { opaque: true };
  }
}

/** Serves the tool `whoami` until the scope ends. */
export async function startCredentialBackend(scope: Scope, name: string, host?: string): Promise<CredentialBackend> {
  const none: CredentialBackend['refuses'] = () => false;
  const handle: Handle = async (req, res, body) => {
    const method = (body as { method?: string } | undefined)?.method;
    if (backend.refuses?.(req.headers, method) === true) {
      res.writeHead(401, { 'www-authenticate': 'Bearer error="invalid_token", realm="of the backend"' }).end();
      return;
    }
    if (req.method !== 'POST') {
      res.writeHead(405, { allow: 'POST' }).end();
      return;
    }
    const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
    await whoami(name, req.headers).connect(transport);
    res.once('close', () => void transport.close());
    await transport.handleRequest(req, res, body);
  };
  const backend: HttpBackend & Partial<CredentialBackend> = await hostBackend(scope, '/mcp', handle, 0, host);
  return Object.assign(backend, { refuses: none });
}
