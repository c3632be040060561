import type { Request, RequestHandler, Response } from 'express';
import { auditOf, type AuditedRequest } from '../../audit/audited-request.ts';
import { readBody } from '../../http/read-body.ts';
import { refuseTooLarge } from '../../http/refuse-too-large.ts';
import { scanEnvelope, ScanError, type ClientEnvelope } from '../../http/json-scan.ts';
import type { Answer } from '../answers/answer.ts';
import { AuditedAnswer } from '../answers/audited-answer.ts';
import type { HeldBytes } from '../budgets/byte-budget.ts';
import { CODE } from '../error-codes.ts';
import type { Session } from '../session.ts';
import { REVISIONS } from '../transport/handshake.ts';
import type { VirtualServer } from '../virtual-server.ts';
import { identityOf, ownId, principalOf } from './caller.ts';
import { classify } from './modern/classify.ts';
import { ModernPost } from './modern/modern-post.ts';
import { PostAnswer } from './post-answer.ts';
import { serveRequest, handleMessage, recordMessage } from './dispatch.ts';
import { initializeResult, readClientFacts } from './initialize.ts';
import { isModern } from '../era.ts';
import { refuse, refuseBody, refuseSession } from './refuse.ts';
import { stackOf } from '../../telemetry/log.ts';

export interface EdgeOptions {
  readonly maxBodyBytes: number;
  /** Version of the gateway, for `serverInfo`. */
  readonly version: string;
  /** Key of the task ids that clients get, 32 bytes; each virtual server has one of its own when absent. */
  readonly taskKey?: Buffer | undefined;
}

/** Longest body that is read without a session, when only `initialize` needs none. */
export const LONGEST_INITIALIZE = 1024 * 1024;

const TOO_LONG = 'the body is longer than the gateway accepts';

/**
 * Serves `POST /mcp`: one JSON-RPC message of a client. @see MCP 2025-11-25, basic/transports, Sending Messages to the
 * Server
 */
export function mcpPost(server: VirtualServer, options: EdgeOptions): RequestHandler {
  const modern = new ModernPost(server, options.version, options.taskKey);
  return (req, res) => {
    const refusal = refuseHeaders(req);
    if (refusal) {
      refuse(res, refusal[0], CODE.invalidRequest, refusal[1]);
      return;
    }
    const isModernRequest = isModern(req.headers['mcp-protocol-version'] as string | undefined);
    const session = isModernRequest ? undefined : sessionOf(server, req, res);
    let held: HeldBytes | undefined;
    const hold = (bytes: number): boolean =>
      (held ??= (session?.account ?? server.accountOf(principalOf(res))).request()).resize(bytes);
    const isKept = session !== undefined || isModernRequest || server.olderVersionHeaderClients.length > 0;
    readBody(
      req,
      { limit: options.maxBodyBytes, kept: isKept ? undefined : LONGEST_INITIALIZE, hold },
      (body) => {
        try {
          onMessage(server, modern, options, session, req, res, body, held);
        } catch (error) {
          if (error instanceof ScanError)
            refuse(res, 400, error.fault === 'parse' ? CODE.parse : CODE.invalidRequest, error.message);
          else answerBug(server, res, error);
        }
        held?.release();
      },
      (reason) => {
        held?.release();
        if (reason === 'too_large')
          refuseTooLarge(req, res, `${TOO_LONG}: at most ${String(options.maxBodyBytes)} bytes`);
        else if (reason === 'not_kept') admit(req, res, undefined);
        else if (reason === 'not_held') {
          server.refused('request_bytes');
          refuseBody(req, res);
        }
      },
    );
  };
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

function onMessage(
  server: VirtualServer,
  modern: ModernPost,
  options: EdgeOptions,
  found: Session | undefined,
  req: Request,
  res: Response,
  body: Buffer,
  held: HeldBytes | undefined,
): void {
  const envelope = scanEnvelope(body);
  const classified = classify(req.headers, body, envelope, server.olderVersionHeaderClients);
  if (classified.era !== 'legacy') {
    modern.serve(req, res, body, envelope, classified, held);
    return;
  }
  const audit = auditOf(res);
  recordMessage(audit, body, envelope, found);
  if (envelope.method === 'initialize') {
    initialize(server, options, req, res, body, envelope);
    return;
  }
  const session = admit(req, res, found);
  if (!session) return;
  if (envelope.method === undefined || envelope.id === undefined) {
    handleMessage(server, session, body, envelope);
    res.writeHead(202, { 'content-length': 0 });
    res.end();
    return;
  }
  if (answerPendingChallenge(server, session, res)) return;
  const answer = new PostAnswer(res, ownId(body, envelope.id, held), session, server.challenge);
  serveRequest(server, session, identityOf(res), req.headers, body, envelope, answer, held, audit);
}

/** Answers a request with the challenge that an earlier request of the session could not receive. */
export function answerPendingChallenge(server: VirtualServer, session: Session, res: Response): boolean {
  const { pendingChallenge } = session;
  if (pendingChallenge === undefined) return false;
  session.pendingChallenge = undefined;
  server.challenge(res, pendingChallenge);
  return true;
}

/** Returns the session of the request, or undefined after a rejection. */
export const findSession = (server: VirtualServer, req: Request, res: Response): Session | undefined =>
  admit(req, res, sessionOf(server, req, res));

function sessionOf(server: VirtualServer, req: Request, res: Response): Session | undefined {
  const id = req.headers['mcp-session-id'];
  if (typeof id !== 'string') return undefined;
  const session = server.sessions.find(id, principalOf(res));
  if (!session && server.sessions.has(id)) auditOf(res)?.foreignSession(id);
  return session;
}

/**
 * Checks the headers of a request for `session`, which may have ended while the body arrived. Returns undefined after a
 * rejection.
 */
function admit(req: Request, res: Response, session: Session | undefined): Session | undefined {
  if (req.headers['mcp-session-id'] === undefined) {
    refuse(res, 400, CODE.invalidRequest, 'the Mcp-Session-Id header is missing: send initialize first');
    return undefined;
  }
  if (!session || session.ended) {
    refuseSession(res);
    return undefined;
  }
  session.identity = identityOf(res);
  const revision = req.headers['mcp-protocol-version'];
  if (revision === undefined || revision === session.revision || (REVISIONS as readonly unknown[]).includes(revision))
    return session;
  refuse(res, 400, CODE.invalidRequest, `MCP-Protocol-Version must be one of ${REVISIONS.join(', ')}`);
  return undefined;
}

function initialize(
  server: VirtualServer,
  options: EdgeOptions,
  req: Request,
  res: Response,
  body: Buffer,
  envelope: ClientEnvelope,
): void {
  if (envelope.id === undefined) {
    refuse(res, 400, CODE.invalidRequest, 'initialize must be a request with an id');
    return;
  }
  const client = readClientFacts(body, envelope);
  const audit = auditOf(res);
  const plain = new PostAnswer(res, body.subarray(envelope.id.start, envelope.id.end), undefined, server.challenge);
  const answer = server.observe(answerOf(plain, audit), 'initialize', client, body, envelope, req.headers);
  if (client === undefined) {
    answer.error(CODE.invalidParams, 'initialize needs a "protocolVersion" that is a string');
    return;
  }
  if (server.draining) {
    res.setHeader('retry-after', '1');
    refuse(res, 503, CODE.internal, 'the gateway is shutting down: try again');
    answer.trace?.answered('unavailable');
    audit?.answered({ outcome: 'error', status: 503 });
    return;
  }
  const session = server.openSession(principalOf(res), identityOf(res), client);
  res.setHeader('mcp-session-id', session.id);
  audit?.sessionCreated(session);
  answer.result(initializeResult(client.revision, options.version, server.view(session).current.capabilities));
}

const answerOf = (answer: Answer, audit: AuditedRequest | undefined): Answer =>
  audit ? new AuditedAnswer(answer, audit) : answer;

/** Answers 500 for a bug of the gateway and logs the stack. */
export function answerBug(server: VirtualServer, res: Response, error: unknown): void {
  server.log.error('request failed unexpectedly', {
    error: stackOf(error),
  });
  refuse(res, 500, CODE.internal, 'internal error');
}
