import type { RequestHandler } from 'express';
import { CODE } from '../error-codes.ts';
import type { VirtualServer } from '../virtual-server.ts';
import { findSession } from './post.ts';
import { refuse } from './refuse.ts';

const HEARTBEAT_MS = 30_000;
const HEARTBEAT = ': keep-alive\n\n';

/** `GET /mcp`: the stream on which a session hears of changes. A second one takes the place of the first. */
export function mcpGet(server: VirtualServer): RequestHandler {
  return (req, res) => {
    if (!(req.headers.accept ?? '').includes('text/event-stream')) {
      refuse(res, 406, CODE.invalidRequest, 'Accept must name text/event-stream');
      return;
    }
    if (Number(req.headers['content-length'] ?? 0) > 0 || req.headers['transfer-encoding'] !== undefined) {
      refuse(res, 400, CODE.invalidRequest, 'a GET has no body');
      return;
    }
    const session = findSession(server, req, res);
    if (!session) return;
    session.stream?.end();
    session.stream = res;
    res.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache', 'x-accel-buffering': 'no' });
    res.flushHeaders();
    res.on('close', () => {
      if (session.stream === res) session.stream = undefined;
    });
  };
}

/** `DELETE /mcp`: ends the session and everything that runs for it. */
export function mcpDelete(server: VirtualServer): RequestHandler {
  return (req, res) => {
    const session = findSession(server, req, res);
    if (!session) return;
    server.sessions.end(session);
    res.writeHead(204);
    res.end();
  };
}

/** Keeps idle streams open through proxies: one timer for all of them. */
export function startHeartbeat(server: VirtualServer): NodeJS.Timeout {
  return setInterval(() => {
    for (const { stream } of server.sessions.all()) stream?.write(HEARTBEAT);
  }, HEARTBEAT_MS).unref();
}
