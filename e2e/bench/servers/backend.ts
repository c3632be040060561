/**
 * Cheap MCP servers of both eras on node:http, one per listener: the backends of the gateway and the bare proxy.
 * Prints `{"ports":[...]}` when it listens and ends when its stdin ends. `--mode` chooses the answer to a tools/call;
 * with `--credential` a call gets 401 unless its bearer token starts with that text.
 */
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { announce, listen } from './child.ts';
import { answerBadly } from './misbehaviour.ts';
import { tool } from './tools.ts';

const MODES = ['json', 'sse', 'hang', 'slow-loris', 'large', 'garbage'] as const;
type Mode = (typeof MODES)[number];

interface JsonRpc {
  readonly id?: string | number;
  readonly method: string;
  readonly params?: {
    readonly name?: string;
    readonly arguments?: { readonly text?: string };
    readonly protocolVersion?: string;
    readonly _meta?: Readonly<Record<string, unknown>>;
  };
}

/** A request of this revision names it in `_meta`, and repeats its method and name in headers. */
const MODERN = '2026-07-28';
const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';

const isModern = ({ params }: JsonRpc): boolean => params?._meta?.[VERSION_KEY] === MODERN;

interface Backend {
  readonly name: string;
  readonly mode: Mode;
  readonly sessions: boolean;
  readonly toolsJson: string;
  /** Members of each result of `MODERN`, as the SDKs write them. */
  readonly stamp: string;
  /** Required start of the `Authorization` header of calls; '' accepts every call. */
  readonly authorization: string;
}

function reply(res: ServerResponse, backend: Backend, id: JsonRpc['id'], result: string): void {
  const message = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},${result}}`;
  if (backend.mode === 'sse') {
    res.writeHead(200, { 'Content-Type': 'text/event-stream' }).end(`event: message\ndata: ${message}\n\n`);
    return;
  }
  res.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(message) }).end(message);
}

function initialize(res: ServerResponse, backend: Backend, { id, params }: JsonRpc): void {
  if (backend.sessions) res.setHeader('Mcp-Session-Id', randomUUID());
  const result = {
    protocolVersion: params?.protocolVersion ?? '2025-11-25',
    capabilities: { tools: {} },
    serverInfo: { name: backend.name, version: '1.0.0' },
  };
  reply(res, backend, id, `"result":${JSON.stringify(result)}`);
}

/** Answers with the names of the backend and the tool, so that a client can check the routing. */
function call(res: ServerResponse, backend: Backend, { id, params }: JsonRpc, stamp: string): void {
  if (backend.mode !== 'json' && backend.mode !== 'sse') {
    answerBadly(res, backend.mode, JSON.stringify(id));
    return;
  }
  const echo = JSON.stringify(`${backend.name} ${params?.name ?? ''} ${params?.arguments?.text ?? ''}`);
  reply(res, backend, id, `"result":{"content":[{"type":"text","text":${echo}}],"isError":false${stamp}}`);
}

const DISCOVERED = `"supportedVersions":["${MODERN}","2025-11-25"],"capabilities":{"tools":{}}`;
const HINT = ',"ttlMs":0,"cacheScope":"public"';

function dispatch(res: ServerResponse, backend: Backend, request: JsonRpc): void {
  if (request.id === undefined) {
    res.writeHead(202).end();
    return;
  }
  const stamp = isModern(request) ? backend.stamp : '';
  switch (request.method) {
    case 'tools/call':
      call(res, backend, request, stamp);
      return;
    case 'tools/list':
      reply(res, backend, request.id, `"result":{"tools":${backend.toolsJson}${stamp && HINT}${stamp}}`);
      return;
    case 'server/discover':
      reply(res, backend, request.id, `"result":{${DISCOVERED}${HINT}${backend.stamp}}`);
      return;
    case 'initialize':
      initialize(res, backend, request);
      return;
    case 'ping':
      reply(res, backend, request.id, '"result":{}');
      return;
    default:
      reply(res, backend, request.id, '"error":{"code":-32601,"message":"Method not found"}');
  }
}

async function handle(req: IncomingMessage, res: ServerResponse, backend: Backend): Promise<void> {
  if (req.method === 'POST') {
    const request = JSON.parse(await text(req)) as JsonRpc;
    const knocks = request.method === 'tools/call' && backend.authorization !== '';
    if (knocks && req.headers.authorization?.startsWith(backend.authorization) !== true) res.writeHead(401).end();
    else if (isModern(request) && req.headers['mcp-method'] !== request.method) res.writeHead(400).end();
    else dispatch(res, backend, request);
  } else if (req.method === 'DELETE') res.writeHead(200).end();
  else res.writeHead(405, { Allow: 'POST, DELETE' }).end();
}

const { values } = parseArgs({
  options: {
    listeners: { type: 'string', default: '1' },
    port: { type: 'string', default: '0' },
    name: { type: 'string', default: 'bench' },
    tools: { type: 'string', default: '10' },
    mode: { type: 'string', default: 'json' },
    credential: { type: 'string', default: '' },
    'no-sessions': { type: 'boolean', default: false },
  },
});
const mode = MODES.find((known) => known === values.mode);
if (mode === undefined) throw new RangeError(`--mode is one of ${MODES.join(', ')}`);

const ports: number[] = [];
for (let index = 1; index <= Number(values.listeners); index += 1) {
  const name = `${values.name}-${String(index)}`;
  const serverInfo = JSON.stringify({ 'io.modelcontextprotocol/serverInfo': { name, version: '1.0.0' } });
  const backend: Backend = {
    name,
    mode,
    stamp: `,"resultType":"complete","_meta":${serverInfo}`,
    sessions: !values['no-sessions'],
    authorization: values.credential === '' ? '' : `Bearer ${values.credential}`,
    toolsJson: JSON.stringify(Array.from({ length: Number(values.tools) }, (_, number) => tool(number))),
  };
  const server = createServer((req, res) => {
    handle(req, res, backend).catch(() => res.destroy());
  });
  server.keepAliveTimeout = 120_000;
  ports.push(await listen(server, index === 1 ? Number(values.port) : 0));
}
announce(ports);
