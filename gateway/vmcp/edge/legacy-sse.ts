import { randomUUID } from 'node:crypto';
import type { Request, RequestHandler, Response } from 'express';
import { auditOf } from '../../audit/audited-request.ts';
import { readBody } from '../../http/read-body.ts';
import { refuseTooLarge } from '../../http/refuse-too-large.ts';
import { scanEnvelope, ScanError, type ClientEnvelope } from '../../http/json-scan.ts';
import type { HeldBytes } from '../budgets/byte-budget.ts';
import { CODE } from '../error-codes.ts';
import type { Session } from '../session.ts';
import type { VirtualServer } from '../virtual-server.ts';
import { errorMessage } from '../message.ts';
import { serveRequest, handleMessage, recordMessage } from './dispatch.ts';
import { endpointPrefix } from './endpoint-prefix.ts';
import { initializeResult, readClientFacts } from './initialize.ts';
import { identityOf, principalOf } from './caller.ts';
import { answerBug, answerPendingChallenge, LONGEST_INITIALIZE, refuseType, type EdgeOptions } from './post.ts';
import { refuse, refuseBody, refuseSession } from './refuse.ts';
import { StreamAnswer } from './stream-answer.ts';

/** Time that a client has for `initialize` before its stream is closed. */
const INITIALIZE_WITHIN_MS = 30_000;

const SEND_INITIALIZE = 'send initialize first';

interface Connection {
  readonly res: Response;
  readonly principal: string;
  session: Session | undefined;
}

export interface LegacySse {
  readonly get: RequestHandler;
  readonly post: RequestHandler;
}

/**
 * Serves HTTP+SSE for clients of 2024-11-05: `GET /sse` opens the stream and names the URL for messages; all replies
 * and notifications are sent on the stream. The session ends with the stream.
 */
export function legacySse(server: VirtualServer, options: EdgeOptions, messagesPath: string): LegacySse {
  const connections = new Map<string, Connection>();
  return {
    get: (req, res) => {
      if (!/text\/event-stream|\*\/\*/.test(req.headers.accept ?? '*/*')) {
        refuse(res, 406, CODE.invalidRequest, 'Accept must name text/event-stream');
        return;
      }
      const id = randomUUID();
      const messagesUrl = `${endpointPrefix(server.config, req)}${messagesPath}?sessionId=${id}`;
      connections.set(id, openStream(server, res, messagesUrl));
      auditOf(res)?.opened();
      res.on('close', () => connections.delete(id));
    },
    post: (req, res) => {
      const id = new URLSearchParams(req.url.split('?')[1]).get('sessionId') ?? '';
      const connection = connections.get(id);
      if (connection?.principal === principalOf(res)) readMessage(server, options, connection, req, res);
      else {
        if (connection) auditOf(res)?.foreignSession(id);
        refuseSession(res);
      }
    },
  };
}

/** Starts the event stream of a client. It ends its session when it closes, and closes when no session begins in time. */
function openStream(server: VirtualServer, res: Response, messagesUrl: string): Connection {
  const connection: Connection = { res, principal: principalOf(res), session: undefined };
  res.writeHead(200, {
    'content-type': 'text/event-stream',
    'cache-control': 'no-cache',
    'x-accel-buffering': 'no',
  });
  res.write(`event: endpoint\ndata: ${messagesUrl}\n\n`);
  const unused = setTimeout(() => {
    if (!connection.session) res.end();
  }, INITIALIZE_WITHIN_MS);
  res.on('close', () => {
    clearTimeout(unused);
    if (connection.session) server.sessions.end(connection.session, 'stream_closed');
  });
  return connection;
}

/** Reads the body of a message within the budgets, and handles the message. */
function readMessage(
  server: VirtualServer,
  options: EdgeOptions,
  connection: Connection,
  req: Request,
  res: Response,
): void {
  const refusal = refuseType(req);
  if (refusal) {
    refuse(res, refusal[0], CODE.invalidRequest, refusal[1]);
    return;
  }
  let held: HeldBytes | undefined;
  const hold = (bytes: number): boolean => (held ??= server.accountOf(connection.principal).request()).resize(bytes);
  readBody(
    req,
    { limit: options.maxBodyBytes, kept: connection.session ? undefined : LONGEST_INITIALIZE, hold },
    (body) => {
      onMessage(server, options, connection, req, res, body, held);
      held?.release();
    },
    (reason) => {
      held?.release();
      if (reason === 'too_large') refuseTooLarge(req, res, 'the body is longer than the gateway accepts');
      else if (reason === 'not_kept') refuse(res, 400, CODE.invalidRequest, SEND_INITIALIZE);
      else if (reason === 'not_held') {
        server.refused('request_bytes');
        refuseBody(req, res);
      }
    },
  );
}

function onMessage(
  server: VirtualServer,
  options: EdgeOptions,
  connection: Connection,
  req: Request,
  res: Response,
  body: Buffer,
  held: HeldBytes | undefined,
): void {
  try {
    const envelope = scanEnvelope(body);
    const audit = auditOf(res);
    recordMessage(audit, body, envelope, connection.session);
    if (envelope.method === 'initialize' && envelope.id) {
      if (connection.session || connection.res.writableEnded) {
        refuse(res, 400, CODE.invalidRequest, 'this stream is initialized already: open another one');
        return;
      }
      initialize(server, options, connection, req, res, body, envelope);
    } else if (!connection.session) {
      refuse(res, 400, CODE.invalidRequest, SEND_INITIALIZE);
      return;
    } else if (envelope.id !== undefined && answerPendingChallenge(server, connection.session, res)) return;
    else if (envelope.method === undefined || envelope.id === undefined)
      handleMessage(server, connection.session, body, envelope);
    else {
      const answer = new StreamAnswer(connection.session, body.subarray(envelope.id.start, envelope.id.end));
      connection.session.identity = identityOf(res);
      serveRequest(server, connection.session, identityOf(res), req.headers, body, envelope, answer, held, audit);
    }
    res.writeHead(202, { 'content-length': 0 });
    res.end();
  } catch (error) {
    if (!(error instanceof ScanError)) {
      answerBug(server, res, error);
      return;
    }
    refuse(res, 400, error.fault === 'parse' ? CODE.parse : CODE.invalidRequest, error.message);
  }
}

function initialize(
  server: VirtualServer,
  options: EdgeOptions,
  connection: Connection,
  req: Request,
  res: Response,
  body: Buffer,
  envelope: ClientEnvelope,
): void {
  const id = body.subarray(envelope.id?.start, envelope.id?.end);
  const client = readClientFacts(body, envelope);
  if (!client || server.draining) {
    const message = client
      ? errorMessage(id, CODE.internal, 'the gateway is shutting down: try again')
      : errorMessage(id, CODE.invalidParams, 'initialize needs a "protocolVersion" that is a string');
    connection.res.write(`event: message\ndata: ${message.toString()}\n\n`);
    const errorCode = client ? CODE.internal : CODE.invalidParams;
    auditOf(res)?.answered({ outcome: 'application_error', status: 200, errorCode });
    return;
  }
  const session = server.openSession(connection.principal, identityOf(res), client);
  connection.session = session;
  auditOf(res)?.sessionCreated(session);
  const { capabilities } = server.view(session).current;
  session.streams.main.adopt(connection.res, identityOf(connection.res));
  server
    .observe(new StreamAnswer(session, id), 'initialize', session, body, envelope, req.headers)
    .result(initializeResult(client.revision, options.version, capabilities));
  server.listen(session);
}
