import type { Request, RequestHandler, Response } from 'express';
import { auditOf } from '../../audit/audited-request.ts';
import { isModern, MODERN_REVISION } from '../era.ts';
import { CODE } from '../error-codes.ts';
import type { VirtualServer } from '../virtual-server.ts';
import { readEventId } from './event-stream.ts';
import { identityOf } from './caller.ts';
import { findSession } from './post.ts';
import { refuse } from './refuse.ts';

/**
 * Serves `GET /mcp`: the stream for messages that belong to no call, or with `Last-Event-ID` the rest of any stream of
 * the session. A second connection replaces the first.
 */
export function mcpGet(server: VirtualServer): RequestHandler {
  return (req, res) => {
    if (server.config.stateless === true) {
      res.setHeader('allow', 'POST, DELETE');
      refuse(res, 405, CODE.invalidRequest, 'this server has no stream: use POST');
      return;
    }
    if (refuseModern(req, res)) return;
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
    const { main } = session.streams;
    const last = req.headers['last-event-id'];
    const event = typeof last === 'string' ? readEventId(last) : { stream: main.id, sequence: undefined };
    const stream = event && session.streams.find(event.stream);
    if (event && stream?.attach(res, event.sequence, identityOf(res))) {
      auditOf(res)?.opened(session);
      if (stream === main) server.listen(session);
    } else if (stream === main) {
      server.log.info('events of a session were dropped', { reason: 'not_kept' });
      main.attach(res, undefined, identityOf(res));
      auditOf(res)?.opened(session);
      server.listen(session);
    } else
      refuse(res, 400, CODE.invalidRequest, 'the event of Last-Event-ID is no longer stored: send the request again');
  };
}

/** Rejects a request of the revision that has only POST. */
function refuseModern(req: Request, res: Response): boolean {
  if (!isModern(req.headers['mcp-protocol-version'] as string | undefined)) return false;
  res.setHeader('allow', 'POST');
  refuse(res, 405, CODE.invalidRequest, `revision ${MODERN_REVISION} has neither sessions nor a GET stream: use POST`);
  return true;
}

/** Serves `DELETE /mcp`: ends the session and its calls. */
export function mcpDelete(server: VirtualServer): RequestHandler {
  return (req, res) => {
    if (refuseModern(req, res)) return;
    const session = findSession(server, req, res);
    if (!session) return;
    server.sessions.end(session, 'deleted');
    res.writeHead(204);
    res.end();
  };
}
