import { randomUUID } from 'node:crypto';
import type { RequestHandler, Response } from 'express';
import { auditOf } from '../../audit/audited-request.ts';
import { readBody } from '../../http/body/read-body.ts';
import { refuseTooLarge } from '../../http/body/refuse-too-large.ts';
import { scanEnvelope, type ClientEnvelope } from '../../http/json-scan.ts';
import type { HeldBytes } from '../budgets/byte-budget.ts';
import { Call } from '../call.ts';
import { CODE } from '../error-codes.ts';
import { MODERN_REVISION } from '../../contract/protocol/revisions.ts';
import { classify } from './modern/classify.ts';
import { replicaOfConnection } from '../replicas/connection-id.ts';
import type { ConnectionState } from '../replicas/connection-state.ts';
import type { Replica } from '../replicas/replica.ts';
import { remoteConnectionOf, type Session } from '../session.ts';
import type { VirtualServer } from '../virtual-server.ts';
import { serveRequest, handleMessage, recordMessage } from './dispatch.ts';
import { endpointPrefix } from './endpoint-prefix.ts';
import { identify, identityOf, principalOf } from './caller.ts';
import {
  ConnectionElsewhere,
  LocalConnection,
  type LegacyClientConnection,
  type Initialized,
} from './legacy-connection.ts';
import { answerError, answerPendingChallenge, LONGEST_INITIALIZE, refuseType, type EdgeOptions } from './post.ts';
import { refuse, refuseBody, refuseSession } from './refuse.ts';
import { StreamAnswer } from './stream-answer.ts';

const NO_SESSIONS = `revision ${MODERN_REVISION} has no HTTP+SSE: send the request to the endpoint of Streamable HTTP`;
const SEND_INITIALIZE = 'send initialize first';

export interface LegacySse {
  readonly get: RequestHandler;
  readonly post: RequestHandler;
}

/**
 * Serves HTTP+SSE for clients of 2024-11-05: `GET /sse` opens the stream and names the URL for messages; all replies
 * and notifications are sent on the stream. The session ends with the stream.
 */
export function legacySse(server: VirtualServer, options: EdgeOptions, messagesPath: string): LegacySse {
  const connections = new Map<string, LocalConnection>();
  server.onReplica((replica) => {
    for (const connection of connections.values()) connection.closeUnused(); // other replicas cannot find these ids
    serveOthers(connections, replica);
  });
  return {
    get: (req, res) => {
      if (!/text\/event-stream|\*\/\*/.test(req.headers.accept ?? '*/*')) {
        refuse(res, 406, CODE.invalidRequest, 'Accept must name text/event-stream');
        return;
      }
      const id = server.replica?.connections.newId() ?? randomUUID();
      const messagesUrl = `${endpointPrefix(server.config, req)}${messagesPath}?sessionId=${id}`;
      connections.set(id, new LocalConnection(server, options, id, res, messagesUrl));
      auditOf(res)?.opened();
      res.on('close', () => connections.delete(id));
    },
    post: (req, res) => {
      const id = new URLSearchParams(req.url.split('?')[1]).get('sessionId') ?? '';
      const connection = connections.get(id);
      const { replica } = server;
      const owner = replica && !connection ? replicaOfConnection(id) : undefined;
      if (replica && owner !== undefined && owner !== replica.name) postElsewhere(server, options, replica, id, res);
      else if (connection?.principal === principalOf(res)) readMessage(server, options, connection, res);
      else refuseConnection(id, res, connection ? 'foreign' : 'unknown');
    },
  };
}

/** Lets other replicas use the connections of this process. */
function serveOthers(connections: ReadonlyMap<string, LocalConnection>, replica: Replica): void {
  replica.connections.serve({
    state: (id, principal) => {
      const connection = connections.get(id);
      if (!connection) return { kind: 'unknown' };
      if (connection.principal !== principal) return { kind: 'foreign' };
      if (!connection.session) return { kind: 'waiting' };
      return { kind: connection.session.ended ? 'unknown' : 'open' };
    },
    initialize: async (id, body): Promise<ConnectionState> => {
      const connection = connections.get(id);
      if (!connection) return { kind: 'unknown' };
      const { identity } = connection;
      const done = await connection.initialize({ body, envelope: scanEnvelope(body), headers: {}, identity });
      return done.kind === 'created' ? { kind: 'created' } : done;
    },
  });
}

/** Serves a message of a client whose connection another replica has. */
function postElsewhere(server: VirtualServer, options: EdgeOptions, replica: Replica, id: string, res: Response): void {
  findElsewhere(replica, id, principalOf(res))
    .then((found) => {
      if (typeof found === 'string') refuseConnection(id, res, found);
      else readMessage(server, options, found, res);
    })
    .catch((error: unknown) => {
      answerError(server, res, error);
    });
}

/** Returns the connection, or the reason why there is none for this principal. */
async function findElsewhere(
  replica: Replica,
  id: string,
  principal: string,
): Promise<LegacyClientConnection | 'foreign' | 'unknown'> {
  for (const isLast of [false, true]) {
    const session = await replica.sessions.find(id, principal);
    const remote = session && remoteConnectionOf(session);
    const state = remote ? await remote.state() : (await replica.connections.state(id, principal)).kind;
    if (state === 'foreign') return state;
    if (state === 'waiting') return new ConnectionElsewhere(replica, id, principal, undefined);
    if (state !== 'open') return 'unknown';
    if (session) return new ConnectionElsewhere(replica, id, principal, session);
    if (isLast) break; // else the session began in the meantime
  }
  return 'unknown';
}

/** Answers 404 for unknown, closed and foreign connections alike. */
function refuseConnection(id: string, res: Response, kind: 'foreign' | 'unknown'): void {
  if (kind === 'foreign') auditOf(res)?.foreignSession(id);
  refuseSession(res);
}

/** Reads the body of a message within the budgets, and handles the message. */
function readMessage(
  server: VirtualServer,
  options: EdgeOptions,
  connection: LegacyClientConnection,
  res: Response,
): void {
  const { req } = res;
  const refusal = refuseType(req);
  if (refusal) {
    refuse(res, refusal[0], CODE.invalidRequest, refusal[1]);
    return;
  }
  let held: HeldBytes | undefined;
  const hold = (bytes: number): boolean => (held ??= server.accountOf(connection.principal).request()).resize(bytes);
  readBody(
    req,
    {
      limit: options.maxBodyBytes,
      kept: connection.session ? undefined : LONGEST_INITIALIZE,
      hold,
      keyOf: options.turnKeyOf,
    },
    (body) => {
      onMessage(server, connection, res, body, held);
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
  connection: LegacyClientConnection,
  res: Response,
  body: Buffer,
  held: HeldBytes | undefined,
): void {
  const { session } = connection;
  try {
    const envelope = scanEnvelope(body);
    recordMessage(auditOf(res), body, envelope, session);
    const classified = classify(res.req.headers, body, envelope, []);
    if (classified.era === 'rejected') {
      const { code, message } = classified.rejection;
      refuse(res, 400, code, message);
    } else if (classified.era === 'modern') refuse(res, 400, CODE.invalidRequest, NO_SESSIONS);
    else if (envelope.method === 'initialize' && envelope.id) initialize(server, connection, res, body, envelope);
    else if (!session) refuse(res, 400, CODE.invalidRequest, SEND_INITIALIZE);
    else if (session.ended) refuseSession(res);
    else if (envelope.id !== undefined && answerPendingChallenge(server, session, res)) return;
    else if (envelope.method === undefined || envelope.id === undefined)
      acceptAfter(server, res, handleMessage(server, session, body, envelope));
    else {
      answerOnStream(server, callOnStream(session, res, body, envelope, held));
      accept(res);
    }
  } catch (error) {
    answerError(server, res, error);
  }
}

/** Returns the call of a request whose reply is sent on the stream of its session. */
function callOnStream(
  session: Session,
  res: Response,
  body: Buffer,
  envelope: ClientEnvelope,
  held: HeldBytes | undefined,
): Call {
  const answer = new StreamAnswer(session, body.subarray(envelope.id?.start, envelope.id?.end));
  const call = new Call(session, answer, body, envelope, res.req.headers);
  call.identity = identityOf(res);
  call.held = held;
  call.audit = auditOf(res);
  return call;
}

function answerOnStream(server: VirtualServer, call: Call): void {
  const { answer } = call;
  identify(server, call.session, call.identity);
  try {
    serveRequest(server, call);
  } catch (error) {
    answer.drop();
    throw error;
  }
}

function accept(res: Response): void {
  res.writeHead(202, { 'content-length': 0 });
  res.end();
}

function acceptAfter(server: VirtualServer, res: Response, handled: Promise<void> | undefined): void {
  if (!handled) accept(res);
  else
    handled
      .then(() => {
        accept(res);
      })
      .catch((error: unknown) => {
        answerError(server, res, error);
      });
}

function initialize(
  server: VirtualServer,
  connection: LegacyClientConnection,
  res: Response,
  body: Buffer,
  envelope: ClientEnvelope,
): void {
  const initialized = connection.initialize({ body, envelope, headers: res.req.headers, identity: identityOf(res) });
  if (!(initialized instanceof Promise)) {
    answerInitialize(res, initialized);
    return;
  }
  initialized
    .then((outcome) => {
      answerInitialize(res, outcome);
    })
    .catch((error: unknown) => {
      answerError(server, res, error);
    });
}

function answerInitialize(res: Response, initialized: Initialized): void {
  const audit = auditOf(res);
  if (initialized.kind === 'created') audit?.sessionCreated(initialized.session);
  else if (initialized.kind === 'rejected')
    audit?.answered({ outcome: 'application_error', status: 200, errorCode: initialized.code });
  else if (initialized.kind === 'open') {
    refuse(res, 400, CODE.invalidRequest, 'this stream is initialized already: open another one');
    return;
  } else {
    refuseSession(res);
    return;
  }
  accept(res);
}
