import type { Request, RequestHandler, Response } from 'express';
import { auditOf } from '../../audit/audited-request.ts';
import { isSessionless, MODERN_REVISION } from '../../contract/protocol/revisions.ts';
import { CODE } from '../error-codes.ts';
import type { VirtualServer } from '../virtual-server.ts';
import { readEventId } from './event-stream.ts';
import { identityOf } from './caller.ts';
import type { Session } from '../session.ts';
import { withSession } from './post.ts';
import { refuse, refuseSession } from './refuse.ts';

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
    withSession(server, req, res, (session) => openStream(server, session, req, res));
  };
}

/** Connects the client to a stream of its session, which may be one of another replica. */
async function openStream(server: VirtualServer, session: Session, req: Request, res: Response): Promise<void> {
  const { main } = session.streams;
  const last = req.headers['last-event-id'];
  const event = typeof last === 'string' ? readEventId(last) : { stream: main.id, sequence: undefined };
  const identity = identityOf(res);
  if (event?.stream === main.id && session.shared) {
    if (server.replica?.handsOver === true) {
      res.setHeader('retry-after', '1');
      refuse(res, 503, CODE.internal, 'the gateway is shutting down: try again');
      return;
    }
    const hold = await server.replica?.hold(session, session.shared);
    if (hold === 'ended') {
      server.sessions.end(session, 'released');
      refuseSession(res);
      return;
    }
    if (hold === 'moved') {
      res.writeHead(200, { 'content-type': 'text/event-stream' }).end(); // a later connection replaces this one
      return;
    }
  }
  const stream = event && session.streams.find(event.stream);
  if (event?.sequence !== undefined && stream?.isOverAfter(event.sequence)) endResumption(res);
  else if (event && stream?.attach(res, event.sequence, identity)) {
    auditOf(res)?.opened(session);
    if (stream === main) server.listen(session);
  } else if (stream === main) {
    server.log.info('events of a session were dropped', { reason: 'not_kept' });
    main.attach(res, undefined, identity);
    auditOf(res)?.opened(session);
    server.listen(session);
  } else await followElsewhere(server, session, event, res);
}

/**
 * Answers a client that resumes a stream after its last event: 204 ends the resumption, while clients resume a stream that ends
 * without an event again and again. @see HTML, Server-sent events, Processing model
 */
function endResumption(res: Response): void {
  res.writeHead(204).end();
}

/** Continues a stream of another replica, or refuses when there is none. */
async function followElsewhere(
  server: VirtualServer,
  session: Session,
  event: { readonly stream: string; readonly sequence: number | undefined } | undefined,
  res: Response,
): Promise<void> {
  const { stream = '', sequence } = event ?? {};
  const pipes = server.replica?.streams;
  const found = sequence !== undefined && (await pipes?.follow(session, stream, sequence, res, identityOf(res)));
  if (found === 'followed') auditOf(res)?.opened(session);
  else if (found === 'over') endResumption(res);
  else refuse(res, 400, CODE.invalidRequest, 'the event of Last-Event-ID is no longer stored: send the request again');
}

/** Rejects a request of the revision that has only POST. */
function refuseModern(req: Request, res: Response): boolean {
  if (!isSessionless(req.headers['mcp-protocol-version'] as string | undefined)) return false;
  res.setHeader('allow', 'POST');
  refuse(res, 405, CODE.invalidRequest, `revision ${MODERN_REVISION} has neither sessions nor a GET stream: use POST`);
  return true;
}

/** Serves `DELETE /mcp`: ends the session and its calls. */
export function mcpDelete(server: VirtualServer): RequestHandler {
  return (req, res) => {
    if (refuseModern(req, res)) return;
    withSession(server, req, res, async (session) => {
      await server.endSession(session);
      res.writeHead(204);
      res.end();
    });
  };
}
