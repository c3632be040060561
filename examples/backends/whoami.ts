/**
 * An MCP server that says which credential reached it: `npx node examples/backends/whoami.ts --port 4410`.
 * It answers the names of the headers and `sub` and `aud` of a bearer token, never the token.
 * With `--issuer` and `--audience` it takes only tokens of that issuer for that audience; else it takes everybody.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { parseArgs } from 'node:util';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { createRemoteJWKSet, decodeJwt, jwtVerify, type JWTPayload } from 'jose';

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '4410' },
    name: { type: 'string', default: 'whoami' },
    issuer: { type: 'string' },
    audience: { type: 'string' },
  },
});
const { issuer, audience } = values;
const keys = issuer === undefined ? undefined : createRemoteJWKSet(new URL(`${issuer}/jwks`));

/** What a bearer token says about itself; 'opaque' when it is no JWT. */
function claimsOf(token: string): Pick<JWTPayload, 'iss' | 'sub' | 'aud'> | 'opaque' {
  try {
    const { iss, sub, aud } = decodeJwt(token);
    return JSON.parse(JSON.stringify({ iss, sub, aud })) as JWTPayload;
  } catch {
    return 'opaque';
  }
}

const bearerOf = ({ headers }: IncomingMessage): string | undefined =>
  /^Bearer (\S+)$/u.exec(headers.authorization ?? '')?.[1];

async function admitted(req: IncomingMessage): Promise<boolean> {
  if (keys === undefined || issuer === undefined || audience === undefined) return true;
  try {
    await jwtVerify(bearerOf(req) ?? '', keys, { issuer, audience });
    return true;
  } catch {
    return false;
  }
}

function serverFor(req: IncomingMessage): McpServer {
  const server = new McpServer({ name: values.name, version: '1.0.0' });
  server.registerTool('whoami', { description: 'Says which credential reached this server.' }, () => {
    const token = bearerOf(req);
    const seen = {
      server: values.name,
      headers: Object.keys(req.headers).sort(),
      ...(token !== undefined && { token: claimsOf(token) }),
    };
    return { content: [{ type: 'text', text: JSON.stringify(seen) }] };
  });
  return server;
}

async function handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
  if (!(await admitted(req))) {
    res.writeHead(401, { 'www-authenticate': 'Bearer error="invalid_token"' }).end();
    return;
  }
  if (req.method !== 'POST') {
    res.writeHead(405, { allow: 'POST' }).end();
    return;
  }
  const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
  res.once('close', () => void transport.close());
  await serverFor(req).connect(transport);
  await transport.handleRequest(req, res);
}

createServer((req, res) => {
  handle(req, res).catch(() => res.destroy());
}).listen(Number(values.port), '127.0.0.1', () => {
  const asks = keys === undefined ? 'takes everybody' : `asks for tokens of ${String(issuer)} for ${String(audience)}`;
  process.stdout.write(`MCP server "${values.name}" at http://127.0.0.1:${values.port}/mcp, ${asks}\n`);
});
