import {
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';
import { forwardBody } from '../../http/body/forward-body.ts';
import { joinUnreadPieces } from '../../http/body/unread-pieces.ts';

/** Headers of one connection, which a proxy does not forward. @see RFC 9110 §7.6.1 */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'upgrade',
]);

/**
 * Sends a request over `socket` and streams the reply. Each request has a connection of its own. The caller joins the unread pieces
 * of the request: they arrive while it connects.
 */
export function forward(
  request: IncomingMessage,
  response: ServerResponse,
  socket: Socket,
  target: { readonly path: string; readonly host?: string },
): void {
  if (response.closed) {
    socket.destroy(); // the client left while the socket was opened
    return;
  }
  const { method } = request;
  const host = target.host ?? request.headers.host ?? '';
  const headers = { ...endToEndHeaders(request.headers), host };
  const outgoing = httpRequest({ createConnection: () => socket, method, path: target.path, headers });
  outgoing.once('socket', () => socket.resume()); // it may be paused
  outgoing.once('response', (reply) => {
    response.writeHead(reply.statusCode ?? 502, endToEndHeaders(reply.headers));
    response.flushHeaders();
    joinUnreadPieces(reply);
    forwardBody(reply, response);
    reply.once('error', () => response.destroy());
  });
  outgoing.once('error', () => {
    if (response.headersSent) response.destroy();
    else answer(response, 502, 'the server closed the connection');
  });
  response.once('close', () => outgoing.destroy());
  forwardBody(request, outgoing);
}

export function answer(response: ServerResponse, status: number, message: string): void {
  const headers = { 'content-type': 'text/plain; charset=utf-8', connection: 'close' };
  response.writeHead(status, headers).end(`vmcp: ${message}\n`);
}

/** Returns the headers without those of the connection. `transfer-encoding` stays: Node frames the body by it. */
function endToEndHeaders(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  const named = new Set((headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase()));
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP_BY_HOP.has(name) && !named.has(name)));
}
