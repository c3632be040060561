import type { ServerResponse } from 'node:http';
import { hostBackend, type Handle, type HttpBackend } from '../harness/backends/host.ts';
import type { Scope } from '../harness/scope.ts';
import { asEvent, asSpareEvent } from './framing.ts';
import { rawReply, type RawReply, type RawRequest } from './raw-backend.ts';

/** Format of the replies of a backend over HTTP. */
export interface Manner {
  readonly format: 'json' | 'events' | 'spare-events' | 'events-behind-a-notification';
  readonly contentType?: string;
  readonly sessions: boolean;
}

const SESSION = 'raw-session';
/** A prime, so that pieces end at any place. */
const PIECE_BYTES = 65_521;
const LOG = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"emergency","data":"first"}}';

/** Starts the raw backend over streamable HTTP. */
export const startRawHttp = (scope: Scope, name: string, manner: Manner): Promise<HttpBackend> =>
  hostBackend(scope, '/mcp', async (req, res, body) => {
    const request = (body ?? {}) as RawRequest;
    const isInitialize = request.method === 'initialize';
    if (req.method === 'GET') res.writeHead(405).end();
    else if (manner.sessions && !isInitialize && req.headers['mcp-session-id'] !== SESSION) res.writeHead(400).end();
    else {
      if (manner.sessions && isInitialize) res.setHeader('mcp-session-id', SESSION);
      const reply = req.method === 'POST' ? rawReply(name, request) : undefined;
      if (!reply) res.writeHead(202).end();
      else send(res, manner, request, reply);
    }
  });

function send(
  res: ServerResponse,
  { format, contentType }: Manner,
  request: RawRequest,
  { message, status }: RawReply,
): void {
  if (format === 'json') {
    res.writeHead(status, { 'content-type': contentType ?? 'application/json' });
    writePieces(res, message);
    return;
  }
  res.writeHead(200, { 'content-type': contentType ?? 'text/event-stream' });
  const announced = format === 'events-behind-a-notification' && request.method === 'tools/call';
  writePieces(res, (announced ? asEvent(LOG) : '') + (format === 'spare-events' ? asSpareEvent : asEvent)(message));
}

function writePieces(res: ServerResponse, text: string): void {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) res.write(bytes.subarray(at, at + PIECE_BYTES));
  res.end();
}

/** Starts the raw backend over HTTP+SSE of 2024-11-05. */
export function startRawSse(scope: Scope, name: string): Promise<HttpBackend> {
  const streams = new Map<string, ServerResponse>();
  let last = 0;
  const handle: Handle = async (req, res, body) => {
    if (req.method === 'GET') {
      const id = String((last += 1));
      streams.set(id, res);
      res.once('close', () => streams.delete(id));
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.write(`event: endpoint\ndata: /messages?session=${id}\n\n`);
      return;
    }
    const id = new URL(req.url ?? '/', 'http://localhost').searchParams.get('session') ?? '';
    const stream = streams.get(id);
    res.writeHead(stream ? 202 : 404).end();
    const reply = stream && rawReply(name, body ?? {});
    if (reply) stream.write(asEvent(reply.message));
  };
  return hostBackend(scope, '/sse', handle);
}
