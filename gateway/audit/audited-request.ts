import { methodOf } from '../contract/protocol/methods.ts';
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Request, Response } from 'express';
import type { Identity } from '../contract/identity.ts';
import type { AuditEventType } from '../contract/run-config/audit.ts';
import { loggedPath } from '../http/log-refusals.ts';
import { requestIdOf } from '../http/head/added-headers.ts';
import type { ClientInfo, SessionFacts } from '../policy/policy.ts';
import type { AuditLog } from './audit-log.ts';
import { capture } from './redact-json.ts';
import {
  CLIENT_LEFT_STATUS,
  outcomeOfStatus,
  type Captured,
  type Extra,
  type Outcome,
  type Source,
  type Target,
} from './event.ts';
import { redactContent } from '../telemetry/redact.ts';

/** Characters of `User-Agent`, of a name and of a URI that are written. */
const MAX_USER_AGENT = 256;
const MAX_NAME = 1_024;
const LOCAL = 'auditedRequest';

/** Client of a message. */
export interface MessageClient {
  /** Session; undefined for a revision without sessions. */
  readonly id?: string;
  /** Undefined for a request that names no revision that is served. */
  readonly revision: string | undefined;
  readonly client: ClientInfo;
}

/** A message of a client, as far as the edge has read it. */
export interface ReadMessage {
  /** Undefined for a response. */
  readonly method: string | undefined;
  /** Name or URI in `params`, as the client sent it. */
  readonly name: string | undefined;
  /** JSON text of `params`. */
  readonly params: Buffer | undefined;
  readonly from: MessageClient | undefined;
}

/** The end of a request that was answered with a JSON-RPC response. */
export interface Reply {
  readonly outcome: Outcome;
  readonly status: number;
  /** Bytes of the response. */
  readonly bytes?: number | undefined;
  readonly errorCode?: number | undefined;
  readonly reason?: string | undefined;
  readonly response?: Captured | undefined;
}

const current = new AsyncLocalStorage<AuditedRequest>();

/** Returns the record of a request; undefined while the audit log is off. */
export const auditOf = (res: Response): AuditedRequest | undefined => res.locals[LOCAL] as AuditedRequest | undefined;

/** Returns the request that the running code serves, if it was entered with `during`. */
export const currentRequest = (): AuditedRequest | undefined => current.getStore();

/** One HTTP request, from its arrival to its event. */
export class AuditedRequest {
  readonly log: AuditLog;
  readonly #req: Request;
  readonly #res: Response;
  readonly #startedAt: number;
  readonly #endpoint: string;
  #type: AuditEventType;
  #method: string;
  #targetType: Target['type'];
  #name: string | undefined;
  #backend: string | undefined;
  #from: MessageClient | undefined;
  #request: Captured | undefined;
  /** True while `answered` is expected. */
  #isAwaited = false;
  #isWritten = false;

  /** Starts the record of a request. Its event is written when the response has ended. */
  static start(log: AuditLog, req: Request, res: Response): AuditedRequest {
    const request = AuditedRequest.of(log, req, res);
    res.locals[LOCAL] = request;
    res.once('close', writeAtClose);
    return request;
  }

  /** Creates a record that its creator ends. */
  static of(log: AuditLog, req: Request, res: Response): AuditedRequest {
    return new AuditedRequest(log, req, res);
  }

  private constructor(log: AuditLog, req: Request, res: Response) {
    this.log = log;
    this.#req = req;
    this.#res = res;
    this.#startedAt = log.now();
    this.#endpoint = loggedPath(req);
    this.#method = req.method;
    this.#type = typeOfRequest(this.#endpoint, req.method);
    this.#targetType = this.#type === 'http_request' ? 'endpoint' : undefined;
  }

  /** Runs `serve`, and what it starts, so that `currentRequest` finds this request. */
  during(serve: () => void): void {
    current.run(this, serve);
  }

  /** Address, user agent, request and session of this request. */
  get source(): Source {
    const userAgent = this.#req.headers['user-agent'];
    const session = this.#from?.id;
    return {
      type: 'network',
      value: this.log.addressOf(this.#req),
      extra: {
        ...(userAgent !== undefined && { user_agent: redactContent(userAgent.slice(0, MAX_USER_AGENT)) }),
        request_id: requestIdOf(this.#res),
        ...(session !== undefined && { session_id: session }),
      },
    };
  }

  get endpoint(): string {
    return this.#endpoint;
  }

  get identity(): Identity | undefined {
    return this.#res.locals['identity'] as Identity | undefined;
  }

  /** Sets the type and the target of an operation that is no MCP request. */
  operation(type: AuditEventType, name: string | undefined): void {
    this.#type = type;
    this.#targetType = 'operation';
    this.#name = name;
  }

  read({ method, name, params, from }: ReadMessage): void {
    const { audit: type, item } = methodOf(method);
    this.#type = type;
    this.#method = method?.slice(0, MAX_NAME) ?? 'response';
    this.#targetType = item;
    this.#name = name;
    this.#from = from;
    const { hasRequests, maxDataSize } = this.log.settings;
    if (hasRequests && params && this.log.takes(type)) this.#request = capture(params, maxDataSize);
  }

  /** Sets the client of the message. */
  sentBy(from: MessageClient): void {
    this.#from = from;
  }

  /** Sets the advertised name or URI, and the backend that the request is forwarded to. */
  routed(name: string, backend: string): void {
    this.#name = name;
    this.#backend = backend;
  }

  /** Called when `answered` will end the record: the reply may come on another response, or after this one. */
  awaitReply(): void {
    this.#isAwaited = true;
  }

  /** Writes the event of a request that was answered with a JSON-RPC response, or in place of one. */
  answered({ outcome, status, bytes, errorCode, reason, response }: Reply): void {
    const { statusCode } = this.#res;
    this.#write(outcome, response, {
      status: status < 400 && statusCode >= 400 ? statusCode : status, // a JSON-RPC error can have a status of its own
      ...(bytes !== undefined && { response_size: bytes }),
      ...(errorCode !== undefined && { jsonrpc_error_code: errorCode }),
      ...(reason !== undefined && { reason }),
    });
  }

  /** Writes the event of a stream that has just been opened. */
  opened(session?: SessionFacts): void {
    this.#from = session;
    this.#write('success', undefined, { status: 200 });
  }

  /** Writes the event of the session that this request has opened. */
  sessionCreated(session: SessionFacts): void {
    this.#from = session;
    this.#sessionEvent('vmcp_session_created', 'success', { revision: session.revision });
  }

  /** Writes the event of a request with the session id of another user. */
  foreignSession(id: string): void {
    const { source } = this;
    this.log.write({
      type: 'vmcp_session_binding_violation',
      outcome: 'denied',
      source: { ...source, extra: { ...source.extra, session_id: id } },
      who: this.log.who(this.identity, undefined),
      target: { endpoint: this.#endpoint, method: this.#method, type: 'session' },
      extra: { status: 404 },
    });
  }

  /** Writes the event of a request whose response has ended, unless it is written already or expected. */
  closed(): void {
    const { statusCode, locals, writableFinished } = this.#res;
    if (this.#isAwaited && statusCode < 400) return;
    const status = writableFinished || statusCode >= 400 ? statusCode : CLIENT_LEFT_STATUS;
    const reason = (locals['refusalReason'] as string | undefined) ?? (writableFinished ? undefined : 'client_left');
    this.#write(outcomeOfStatus(status), undefined, { status, ...(reason !== undefined && { reason }) });
  }

  #sessionEvent(type: AuditEventType, outcome: Outcome, extra: Extra): void {
    const who = this.log.who(this.identity, this.#from?.client);
    const target: Target = { endpoint: this.#endpoint, method: this.#method, type: 'session' };
    this.log.write({ type, outcome, source: this.source, who, target, extra });
  }

  #write(outcome: Outcome, response: Captured | undefined, facts: Extra): void {
    const { log } = this;
    if (this.#isWritten || !log.takes(this.#type)) return;
    this.#isWritten = true;
    const request = this.#request;
    log.write({
      type: this.#type,
      outcome,
      source: this.source,
      who: log.who(this.identity, this.#from?.client),
      target: this.#target(),
      extra: this.#extra(facts),
      ...((request ?? response) && { data: { request, response } }),
    });
  }

  #target(): Target {
    return {
      endpoint: this.#endpoint,
      method: this.#method,
      ...(this.#targetType !== undefined && { type: this.#targetType }),
      ...(this.#name !== undefined && { name: redactContent(this.#name.slice(0, MAX_NAME)) }),
    };
  }

  #extra(facts: Extra): Extra {
    const revision = this.#from?.revision;
    return {
      duration_ms: this.log.now() - this.#startedAt,
      transport: TRANSPORTS[this.#endpoint] ?? 'http',
      ...(this.#backend !== undefined && { backend_name: this.#backend }),
      ...(revision !== undefined && { revision }),
      ...facts,
    };
  }
}

const TRANSPORTS: Readonly<Record<string, string | undefined>> = {
  '/mcp': 'streamable-http',
  '/sse': 'sse',
  '/messages': 'sse',
};

function writeAtClose(this: Response): void {
  auditOf(this)?.closed();
}

/** Returns the event type of a request without a message that could be read. */
function typeOfRequest(endpoint: string, httpMethod: string): AuditEventType {
  if (endpoint === '/sse') return 'sse_connection';
  if (endpoint !== '/mcp' && endpoint !== '/messages') return 'http_request';
  return httpMethod === 'GET' ? 'sse_connection' : 'mcp_request';
}
