import type { IncomingMessage } from 'node:http';
import type { Request, RequestHandler, Response } from 'express';
import { auditOf, type AuditedRequest } from '../../audit/audited-request.ts';
import { readBody } from '../../http/body/read-body.ts';
import { refuseTooLarge } from '../../http/body/refuse-too-large.ts';
import { scanEnvelope, ScanError, type ClientEnvelope } from '../../http/json-scan.ts';
import type { Answer } from '../answers/answer.ts';
import { SHUTTING_DOWN, STORE_RETRY_AFTER_SECONDS } from '../answers/ending.ts';
import { AuditedAnswer } from '../answers/audited-answer.ts';
import type { HeldBytes } from '../budgets/byte-budget.ts';
import { Call } from '../call.ts';
import { CODE } from '../error-codes.ts';
import { TooManySessions, type Session } from '../session.ts';
import type { VirtualServer } from '../virtual-server.ts';
import { identify, identityOf, ownId, principalOf } from './caller.ts';
import { classify } from './modern/classify.ts';
import { ModernPost } from './modern/modern-post.ts';
import { lastMeta } from './modern/request-meta.ts';
import { PostAnswer } from './post-answer.ts';
import { KeyValueStoreUnavailable } from '../../kvstore/key-value-store.ts';
import { RETRY_AFTER_SECONDS } from '../budgets/limits.ts';
import { replicaOfConnection } from '../replicas/connection-id.ts';
import type { SharedSessions } from '../replicas/shared-sessions.ts';
import { serveRequest, handleElsewhere, handleMessage, recordMessage } from './dispatch.ts';
import { initializeResult, readClientFacts } from './initialize.ts';
import { isSessionless, SESSION_REVISIONS } from '../../contract/protocol/revisions.ts';
import { refuse, refuseBody, refuseSession } from './refuse.ts';
import { stackOf } from '../../telemetry/log.ts';

export interface EdgeOptions {
  readonly maxBodyBytes: number;
  /** Version of the gateway, for `serverInfo`. */
  readonly version: string;
  /** Returns the key by which a large body takes turns with others. */
  readonly turnKeyOf: (req: IncomingMessage) => string;
}

/** Handlers of the requests of one virtual server. */
interface Endpoint {
  readonly server: VirtualServer;
  readonly options: EdgeOptions;
  readonly modern: ModernPost;
}

/** Longest body that is read without a session, when only `initialize` needs none. */
export const LONGEST_INITIALIZE = 1024 * 1024;

const TOO_LONG = 'the body is longer than the gateway accepts';

/**
 * Serves `POST /mcp`: one JSON-RPC message of a client. @see MCP 2025-11-25, basic/transports, Sending Messages to the
 * Server
 */
export function mcpPost(server: VirtualServer, options: EdgeOptions): RequestHandler {
  const endpoint: Endpoint = { server, options, modern: new ModernPost(server, options.version) };
  server.onReplica((replica) => {
    handleElsewhere(server, replica);
  });
  return (req, res) => {
    const refusal = refuseHeaders(req);
    if (refusal) {
      refuse(res, refusal[0], CODE.invalidRequest, refusal[1]);
      return;
    }
    const isModernRequest = isSessionless(req.headers['mcp-protocol-version'] as string | undefined);
    const session = isModernRequest ? undefined : sessionOf(server, req, res);
    if (session instanceof Promise)
      session
        .then((found) => {
          readMessage(endpoint, found, isModernRequest, res);
        })
        .catch((error: unknown) => {
          answerError(server, res, error);
        });
    else readMessage(endpoint, session, isModernRequest, res);
  };
}

/** Reads the body of a request within the budgets, and serves it. */
function readMessage(endpoint: Endpoint, session: Session | undefined, isModernRequest: boolean, res: Response): void {
  const { server, options } = endpoint;
  const { req } = res;
  let held: HeldBytes | undefined;
  const hold = (bytes: number): boolean =>
    (held ??= (session?.account ?? server.accountOf(principalOf(res))).request()).resize(bytes);
  const isKept = session !== undefined || isModernRequest || server.olderVersionHeaderClients.length > 0;
  readBody(
    req,
    { limit: options.maxBodyBytes, kept: isKept ? undefined : LONGEST_INITIALIZE, hold, keyOf: options.turnKeyOf },
    (body) => {
      let envelope: ClientEnvelope | undefined;
      try {
        envelope = scanEnvelope(body, lastMeta());
        const classified = classify(req.headers, body, envelope, server.olderVersionHeaderClients);
        if (classified.era !== 'legacy') endpoint.modern.serve(res, body, envelope, classified, held);
        else {
          const found = onMessage(endpoint, session, res, body, envelope);
          if (found && envelope.id) {
            const answer = new PostAnswer(res, ownId(body, envelope.id, held), found, server.challenge);
            const call = new Call(found, answer, body, envelope, req.headers);
            call.identity = identityOf(res);
            call.held = held;
            call.audit = auditOf(res);
            serveRequest(server, call);
          }
        }
      } catch (error) {
        const id = envelope?.id;
        answerError(server, res, error, id && body.subarray(id.start, id.end));
      }
      held?.release();
    },
    (reason) => {
      held?.release();
      if (reason === 'too_large')
        refuseTooLarge(req, res, `${TOO_LONG}: at most ${String(options.maxBodyBytes)} bytes`);
      else if (reason === 'not_kept') admit(server, res, undefined);
      else if (reason === 'not_held') {
        server.refused('request_bytes');
        refuseBody(req, res);
      }
    },
  );
}

/** Returns the status and message that reject the content type; undefined when it is accepted. */
export const refuseType = ({ headers }: Request): [number, string] | undefined =>
  /^application\/json\s*(;|$)/i.test(headers['content-type'] ?? '')
    ? undefined
    : [415, 'the body must be of type application/json'];

function refuseHeaders(req: Request): [number, string] | undefined {
  const refusal = refuseType(req);
  if (refusal) return refusal;
  const accept = req.headers.accept ?? '';
  const json = accept.includes('application/json') || accept.includes('*/*') || accept.includes('application/*');
  const events = accept.includes('text/event-stream') || accept.includes('*/*') || accept.includes('text/*');
  return json && events ? undefined : [406, 'Accept must name application/json and text/event-stream'];
}

/** Answers a message that is no request within a session; returns the session of a request that is to be served. */
function onMessage(
  endpoint: Endpoint,
  found: Session | undefined,
  res: Response,
  body: Buffer,
  envelope: ClientEnvelope,
): Session | undefined {
  const { server } = endpoint;
  recordMessage(auditOf(res), body, envelope, found);
  if (envelope.method === 'initialize') {
    initialize(endpoint, res, body, envelope);
    return undefined;
  }
  const session = admit(server, res, found);
  if (!session) return undefined;
  if (envelope.method === undefined || envelope.id === undefined) {
    const accept = (): void => {
      res.writeHead(202, { 'content-length': 0 });
      res.end();
    };
    const passing = handleMessage(server, session, body, envelope);
    if (!passing) accept();
    else
      passing.then(accept).catch((error: unknown) => {
        answerError(server, res, error);
      });
    return undefined;
  }
  return answerPendingChallenge(server, session, res) ? undefined : session;
}

/** Answers a request with the challenge that an earlier request of the session could not receive. */
export function answerPendingChallenge(server: VirtualServer, session: Session, res: Response): boolean {
  const { pendingChallenge } = session;
  if (pendingChallenge === undefined) return false;
  session.pendingChallenge = undefined;
  server.challenge(res, pendingChallenge);
  return true;
}

/** Passes the session of the request to `onFound`, or rejects the request. */
export function withSession(
  server: VirtualServer,
  req: Request,
  res: Response,
  onFound: (session: Session) => void | Promise<void>,
): void {
  const serve = (found: Session | undefined): void | Promise<void> => {
    const session = admit(server, res, found);
    return session && onFound(session);
  };
  const onError = (error: unknown): void => {
    answerError(server, res, error);
  };
  const found = sessionOf(server, req, res);
  const served = found instanceof Promise ? found.then(serve) : serve(found);
  if (served instanceof Promise) served.catch(onError);
}

/** Returns the session of the request: never one of HTTP+SSE. Rejects with `KeyValueStoreUnavailable`. */
function sessionOf(server: VirtualServer, req: Request, res: Response): ReturnType<SharedSessions['find']> {
  const id = req.headers['mcp-session-id'];
  if (typeof id !== 'string') return undefined;
  const { replica, sessions } = server;
  if (replica && replicaOfConnection(id) !== undefined) return undefined;
  const principal = principalOf(res);
  const session = replica ? replica.sessions.find(id, principal, auditOf(res)) : sessions.find(id, principal);
  if (!session && sessions.has(id)) auditOf(res)?.foreignSession(id);
  return session;
}

/**
 * Checks the headers of a request for `session`, which may have ended while the body arrived. Returns undefined after a
 * rejection.
 */
function admit(server: VirtualServer, res: Response, session: Session | undefined): Session | undefined {
  const { req } = res;
  if (req.headers['mcp-session-id'] === undefined) {
    refuse(res, 400, CODE.invalidRequest, 'the Mcp-Session-Id header is missing: send initialize first');
    return undefined;
  }
  if (!session || session.ended) {
    refuseSession(res);
    return undefined;
  }
  identify(server, session, identityOf(res));
  const revision = req.headers['mcp-protocol-version'];
  if (
    revision === undefined ||
    revision === session.revision ||
    (SESSION_REVISIONS as readonly unknown[]).includes(revision)
  )
    return session;
  refuse(res, 400, CODE.invalidRequest, `MCP-Protocol-Version must be one of ${SESSION_REVISIONS.join(', ')}`);
  return undefined;
}

function initialize({ server, options }: Endpoint, res: Response, body: Buffer, envelope: ClientEnvelope): void {
  if (envelope.id === undefined) {
    refuse(res, 400, CODE.invalidRequest, 'initialize must be a request with an id');
    return;
  }
  const client = readClientFacts(body, envelope);
  const audit = auditOf(res);
  const plain = new PostAnswer(res, body.subarray(envelope.id.start, envelope.id.end), undefined, server.challenge);
  const answer = server.observe(answerOf(plain, audit), 'initialize', client, {
    body,
    envelope,
    received: res.req.headers,
  });
  if (client === undefined) {
    answer.error(CODE.invalidParams, 'initialize needs a "protocolVersion" that is a string');
    return;
  }
  if (server.draining) {
    plain.end(SHUTTING_DOWN);
    answer.trace?.answered('unavailable');
    audit?.answered({ outcome: 'error', status: 503 });
    return;
  }
  const session = server.openSession(principalOf(res), identityOf(res), client);
  const created = (): void => {
    res.setHeader('mcp-session-id', session.id);
    audit?.sessionCreated(session);
    answer.result(initializeResult(client.revision, options.version, server.views.listed(session)));
  };
  const saved = session.shared && server.replica?.sessions.save(session);
  if (!saved) {
    created();
    return;
  }
  saved.then(created).catch((error: unknown) => {
    server.sessions.end(session, 'released');
    answer.trace?.answered('unavailable');
    audit?.answered({ outcome: 'error', status: 503 });
    answerError(server, res, error, plain.id);
  });
}

const answerOf = (answer: Answer, audit: AuditedRequest | undefined): Answer =>
  audit ? new AuditedAnswer(answer, audit) : answer;

/**
 * Answers a request that failed: it cannot be read, the store is unavailable, there is no place, or a bug. `id` is the JSON text of
 * the request's id, where it is known.
 */
export function answerError(server: VirtualServer, res: Response, error: unknown, id?: Buffer): void {
  if (error instanceof ScanError)
    refuse(res, 400, error.fault === 'parse' ? CODE.parse : CODE.invalidRequest, error.message, id);
  else if (error instanceof KeyValueStoreUnavailable) {
    server.log.debug('the store of sessions is unavailable', { error: error.message });
    refuseLater(res, 503, STORE_RETRY_AFTER_SECONDS, 'the session store is unavailable: try again', id);
  } else if (error instanceof TooManySessions) {
    server.refused('sessions');
    refuseLater(res, error.of === 'principal' ? 429 : 503, RETRY_AFTER_SECONDS, error.message, id);
  } else answerBug(server, res, error, id);
}

function refuseLater(res: Response, status: number, retryAfterSeconds: number, message: string, id?: Buffer): void {
  if (!res.headersSent) res.setHeader('retry-after', String(retryAfterSeconds));
  refuse(res, status, CODE.internal, message, id);
}

/** Answers 500 for a bug of the gateway and logs the stack. */
function answerBug(server: VirtualServer, res: Response, error: unknown, id: Buffer | undefined): void {
  server.log.error('request failed unexpectedly', {
    error: stackOf(error),
  });
  refuse(res, 500, CODE.internal, 'internal error', id);
}
