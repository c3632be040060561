/**
 * The yardstick: the least work of any Express + undici proxy. It parses and re-serialises requests and replies,
 * keeps its sockets alive and uses the backends in turn. ETags are off because replies of MCP endpoints are not cached.
 */
import { createServer } from 'node:http';
import { parseArgs } from 'node:util';
import express, { type Request, type Response } from 'express';
import { Agent, request } from 'undici';
import { announce, listen } from './child.ts';

const FORWARDED = [
  'accept',
  'content-type',
  'mcp-session-id',
  'mcp-protocol-version',
  'mcp-method',
  'mcp-name',
] as const;

const { values } = parseArgs({ options: { backend: { type: 'string', multiple: true } } });
const backends = values.backend ?? [];
const dispatcher = new Agent({ keepAliveTimeout: 60_000 });
let turn = 0;

function forwardedHeaders(req: Request): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const name of FORWARDED) {
    const value = req.get(name);
    if (value !== undefined) headers[name] = value;
  }
  return headers;
}

async function forward(req: Request, res: Response, method: 'POST' | 'DELETE'): Promise<void> {
  const backend = backends[turn++ % backends.length];
  if (backend === undefined) throw new RangeError('give at least one --backend URL');
  const body = method === 'POST' ? JSON.stringify(req.body) : null;
  const reply = await request(backend, { method, headers: forwardedHeaders(req), body, dispatcher });
  const session = reply.headers['mcp-session-id'];
  if (session !== undefined) res.set('Mcp-Session-Id', session);
  const payload = await reply.body.text();
  res.status(reply.statusCode);
  if (payload === '') res.end();
  else res.json(JSON.parse(payload));
}

const app = express().disable('x-powered-by').disable('etag');
app.post('/mcp', express.json({ limit: '8mb' }), (req, res) => forward(req, res, 'POST'));
app.delete('/mcp', (req, res) => forward(req, res, 'DELETE'));

const server = createServer(app);
server.keepAliveTimeout = 120_000;
announce([await listen(server, 0)]);
