/**
 * MCP server that returns the credential it received: `npx node examples/backends/whoami.ts --port 4410`.
 * It returns the names of the headers, and `iss`, `sub` and `aud` of a bearer token, never the token.
 * With `--issuer` and `--audience` it accepts only tokens of that issuer for that audience; else it accepts every request.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { parseArgs } from 'node:util';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { createRemoteJWKSet, decodeJwt, jwtVerify, type JWTPayload } from 'jose';
import { failToListen, listen } from './listen.ts';

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

/** Returns claims of a bearer token, or 'opaque' when it is not a JWT. */
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

async function isAccepted(req: IncomingMessage): Promise<boolean> {
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
  server.registerTool('whoami', { description: 'Returns the credential that this server received.' }, () => {
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
  if (!(await isAccepted(req))) {
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

const listener = createServer((req, res) => {
  handle(req, res).catch(() => res.destroy());
});
listen(listener, values.port).then(() => {
  const rule = keys === undefined ? 'checks no token' : `requires a token of ${String(issuer)} for ${String(audience)}`;
  process.stdout.write(`MCP server "${values.name}" at http://127.0.0.1:${values.port}/mcp, ${rule}\n`);
}, failToListen);
