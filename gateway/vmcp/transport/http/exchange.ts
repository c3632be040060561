import type { Dispatcher } from 'undici';
import { scanBackendEnvelope, ScanError, type Envelope } from '../../../http/json-scan.ts';
import { memberOf, splice } from '../../../http/json-walk.ts';
import { ReplyRewriter } from '../../../http/reply-rewriter.ts';
import {
  BackendError,
  LONGEST_HOLD_MS,
  type BackendFailure,
  type BackendRequest,
  type ReplySink,
  type RequestHandle,
} from '../channel.ts';
import { failureOfError, failureOfStatus } from '../failure.ts';
import { createLongReplyPace } from './long-reply-pace.ts';
import { mediaTypeOf } from '../media-type.ts';
import { replyFault } from '../reply.ts';
import { LARGE_BODY_BYTES, type BodyPieces } from './body-pieces.ts';
import { UNCOUNTED_PARTIAL_BYTES } from '../../budgets/limits.ts';
import { Resumption } from './resumption.ts';
import { createSseParser, type SseParser } from '../sse-parser.ts';

/** Replies longer than this are passed on while they arrive. */
const STREAM_ABOVE_BYTES = 256 * 1024;

/** Beyond this length a reply is paced. */
const LONG_BYTES = 4 * 1024 * 1024;
const pace = createLongReplyPace();

/** JSON-RPC 2.0 §5.1 */
const METHOD_NOT_FOUND = '-32601';

/** The channel that an exchange belongs to. */
export interface ExchangeHost {
  readonly dispatcher: Dispatcher;
  readonly origin: string;
  readonly path: string;
  readonly maxReplyBytes: number;
  /** Sends `notifications/cancelled` for our id. */
  cancelled(ownId: string): void;
  sessionLost(): void;
  /** True when requests carry a session id: only then there is a session to lose. */
  readonly hasSession: boolean;
  /** Headers of a GET that goes on behind an event; rejects when no credential can be obtained. */
  resumeHeaders(lastEventId: string): Promise<string[]>;
  /** Sees the reply's headers before the sink sees anything of it. */
  replyHeaders?(headers: Readonly<Record<string, string | string[] | undefined>>): void;
}

/** What is sent: flat list of header names and values, and the message that carries `ownId`. */
export interface Outgoing {
  readonly headers: string[];
  /** A large one is given in pieces, which are released as they are sent. */
  readonly body: Buffer | BodyPieces;
  readonly ownId: string;
}

/**
 * One POST to a streamable HTTP backend and what comes back for it: JSON, or a stream of events that ends with the
 * reply. The sink gets the reply with the id of `request`.
 */
export class HttpExchange implements RequestHandle, Dispatcher.DispatchHandler {
  #request: BackendRequest;
  readonly #sink: ReplySink;
  readonly #host: ExchangeHost;
  readonly #ownId: string;
  #timer: NodeJS.Timeout;
  #controller: Dispatcher.DispatchController | undefined;
  #status = 0;
  #retryAfter: string | undefined;
  #pieces: Buffer[] = [];
  #received = 0;
  #expected = -1;
  #events: SseParser | undefined;
  readonly #resumption = new Resumption();
  #rewriter: ReplyRewriter | undefined;
  #done = false;
  #isCollecting = false;
  /** The client does not take what has arrived. */
  #paused = false;

  constructor(request: BackendRequest, sink: ReplySink, host: ExchangeHost, outgoing: Outgoing) {
    this.#request = request;
    this.#sink = sink;
    this.#host = host;
    this.#ownId = outgoing.ownId;
    this.#timer = setTimeout(onTimeout, request.timeoutMs, this);
    const { headers } = outgoing;
    const body = outgoing.body as Buffer; // iterables are taken too, which the types do not say
    host.dispatcher.dispatch(
      { origin: host.origin, path: host.path, method: 'POST', headers, body, headersTimeout: 0, bodyTimeout: 0 },
      this,
    );
  }

  cancel(reason: string): void {
    if (this.#done) return;
    this.#host.cancelled(this.#ownId);
    this.fail({ kind: 'cancelled', detail: reason });
  }

  resume(): void {
    this.#paused = false;
    this.#controller?.resume();
  }

  /** The next piece of a long reply may come, unless the client asked for a pause meanwhile. */
  takeTurn(): void {
    if (!this.#paused && !this.#done) this.#controller?.resume();
  }

  hold(): void {
    this.#restartTimer(LONGEST_HOLD_MS);
  }

  proceed(): void {
    this.#restartTimer(this.#request.timeoutMs);
  }

  timedOut(): void {
    if (this.#done) {
      this.#controller?.abort(new Error('the stream of a request did not end behind its reply'));
      return;
    }
    this.#host.cancelled(this.#ownId);
    if (this.#paused) this.fail({ kind: 'cancelled', detail: 'the client does not read the reply' });
    else this.fail({ kind: 'timeout', detail: `no complete reply after ${String(this.#request.timeoutMs)} ms` });
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#done) controller.abort(new Error('not wanted any more'));
  }

  onResponseStart(
    _: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (status < 200) return;
    if (this.#resumption.isTooEarly(status)) return;
    this.#status = status;
    if (status < 300) this.#releaseBody();
    this.#host.replyHeaders?.(headers);
    const type = mediaTypeOf(headers['content-type']);
    if (typeof headers['retry-after'] === 'string') this.#retryAfter = headers['retry-after'];
    if (type === 'text/event-stream' && status === 200) {
      this.#events = createSseParser((event) => {
        this.#resumption.received(event);
        this.#onEvent(event.data);
      }, this.#host.maxReplyBytes);
    } else if (type !== 'application/json') {
      this.fail(failureOfStatus(status, type, this.#retryAfter));
    } else {
      this.#expected = Number(headers['content-length'] ?? -1);
      if (this.#expected > this.#host.maxReplyBytes) this.#failTooLarge();
    }
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#done || this.#resumption.isEarly) return;
    this.#received += chunk.length;
    try {
      if (this.#events) {
        this.#events.push(chunk);
        if (this.#collecting(this.#events.pending())) this.#takeTurns(controller);
      } else if (this.#received > this.#host.maxReplyBytes) this.#failTooLarge();
      else if (this.#rewriter) this.#pass(controller, this.#rewriter, chunk);
      else {
        this.#pieces.push(chunk);
        if (this.#status !== 200) this.#collecting(this.#received);
        else if (this.#received > STREAM_ABOVE_BYTES) this.#startStreaming(controller);
      }
    } catch (error) {
      this.#failGarbage(error);
    }
  }

  /** Counts a reply that can only be passed on as a whole; true while a long one arrives. */
  #collecting(bytes: number): boolean {
    if (this.#done || (bytes <= UNCOUNTED_PARTIAL_BYTES && !this.#isCollecting)) return false;
    this.#isCollecting = bytes > UNCOUNTED_PARTIAL_BYTES;
    if (this.#sink.collecting?.(this.#isCollecting ? bytes : 0) !== false) return this.#isCollecting;
    this.#host.cancelled(this.#ownId);
    this.fail({ kind: 'overloaded', detail: 'the reply does not fit into the budget', budget: 'reply_bytes' });
    return false;
  }

  /** After a 2xx the request is not sent again. */
  #releaseBody(): void {
    const { params } = this.#request;
    if (params === undefined || params.length <= LARGE_BODY_BYTES) return;
    this.#request = { ...this.#request, params: undefined };
    this.#sink.taken?.();
  }

  onResponseEnd(): void {
    if (this.#done) {
      clearTimeout(this.#timer);
      return;
    }
    try {
      if (this.#events || this.#resumption.isEarly)
        this.#onStreamBroken({ kind: 'unavailable', detail: 'the event stream ended before the reply' });
      else if (this.#rewriter) {
        this.#rewriter.end();
        this.#finish();
        this.#sink.end();
      } else this.#onJson(this.#pieces.length === 1 ? (this.#pieces[0] as Buffer) : Buffer.concat(this.#pieces));
    } catch (error) {
      this.#failGarbage(error);
    }
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    if (this.#done) clearTimeout(this.#timer);
    else this.#onStreamBroken(failureOfError(error));
  }

  fail(reason: BackendFailure): void {
    if (this.#done) return;
    const failure: BackendFailure =
      reason.kind === 'session_lost' && !this.#host.hasSession ? { ...reason, kind: 'refused' } : reason;
    this.#finish();
    this.#controller?.abort(new Error(failure.kind));
    if (failure.kind === 'session_lost') this.#host.sessionLost();
    // A stream that had begun means that the request was taken: it must not look as if it could be sent again.
    const mayBeRepeated = failure.kind === 'session_lost' || failure.kind === 'unauthenticated';
    this.#sink.fail(mayBeRepeated ? (this.#resumption.brokenBy ?? failure) : failure);
  }

  /** Resumes a stream whose events have ids by GET: a backend may close it at any time. */
  #onStreamBroken(failure: BackendFailure): void {
    const wasStream = this.#events !== undefined || this.#resumption.isEarly;
    const isResumed =
      wasStream &&
      this.#resumption.schedule(failure, (lastEventId) => {
        this.#resume(lastEventId, failure);
      });
    if (isResumed) this.#events = undefined;
    else this.fail(failure);
  }

  #resume(lastEventId: string, failure: BackendFailure): void {
    const { dispatcher, origin, path } = this.#host;
    this.#host.resumeHeaders(lastEventId).then(
      (headers) => {
        if (this.#done) return;
        dispatcher.dispatch({ origin, path, method: 'GET', headers, headersTimeout: 0, bodyTimeout: 0 }, this);
      },
      () => {
        this.fail(failure);
      },
    );
  }

  #restartTimer(ms: number): void {
    if (this.#done) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(onTimeout, ms, this);
  }

  #finish(): void {
    this.#done = true;
    clearTimeout(this.#timer);
    this.#resumption.stop();
  }

  #startStreaming(controller: Dispatcher.DispatchController): void {
    this.#rewriter = new ReplyRewriter(this.#ownId, this.#request.id);
    this.#pass(controller, this.#rewriter, Buffer.concat(this.#pieces));
    this.#pieces = [];
  }

  #pass(controller: Dispatcher.DispatchController, rewriter: ReplyRewriter, chunk: Buffer): void {
    this.#paused = !this.#sink.part(rewriter.push(chunk));
    this.#takeTurns(controller);
  }

  /** One piece in a turn of the event loop: a socket that always has more must not keep it from all other calls. */
  #takeTurns(controller: Dispatcher.DispatchController): void {
    controller.pause();
    if (this.#paused) return;
    const pauseMs = this.#received < LONG_BYTES ? 0 : pace.pauseMs();
    if (pauseMs === 0) setImmediate(onTurn, this);
    else setTimeout(onTurn, pauseMs, this);
  }

  #onJson(body: Buffer): void {
    const isRefusal = this.#status >= 500 || this.#status === 401 || this.#status === 403;
    const envelope = isRefusal ? undefined : this.#scan(body);
    if (!envelope || !this.#isOwnReply(body, envelope) || this.#isSessionLost(body, envelope)) {
      this.fail(failureOfStatus(this.#status, 'application/json', this.#retryAfter));
      return;
    }
    this.#onReply(body, envelope);
  }

  /**
   * A 404 to a request with a session id means that the session is lost, whatever the body says. Repeated over a new
   * session, the same request may meet it for another reason: servers of 2026-07-28 answer an unknown method with 404.
   * @see MCP 2025-11-25, basic/transports, Session Management
   */
  #isSessionLost(body: Buffer, { error }: Envelope): boolean {
    if (this.#status !== 404 || !this.#host.hasSession) return false;
    const code = this.#request.repeated ? memberOf(body, error, 'code') : undefined;
    return !code || body.toString('latin1', code.start, code.end) !== METHOD_NOT_FOUND;
  }

  /** Undefined for an error in another shape than that of JSON-RPC. Throws `ScanError` where the status promises a reply. */
  #scan(body: Buffer): Envelope | undefined {
    try {
      return scanBackendEnvelope(body);
    } catch (error) {
      if (this.#status >= 400 && error instanceof ScanError) return undefined;
      throw error;
    }
  }

  #onEvent(data: Buffer): void {
    if (this.#done || data.length === 0) return;
    const envelope = scanBackendEnvelope(data);
    if (envelope.method !== undefined) this.#sink.message(data, envelope);
    else if (this.#isOwnReply(data, envelope)) this.#onReply(data, envelope);
    else this.fail({ kind: 'garbage', detail: 'a reply with another id on the stream of a request' });
  }

  /** On a resumed stream replies to other requests may come too. */
  #isOwnReply(body: Buffer, envelope: Envelope): boolean {
    const { id } = envelope;
    return (
      envelope.method === undefined && id !== undefined && body.toString('latin1', id.start, id.end) === this.#ownId
    );
  }

  /** The connection of an event stream is left to end by itself, so that it can be used again. */
  #onReply(body: Buffer, envelope: Envelope): void {
    const fault = replyFault(body, envelope);
    if (fault !== undefined) {
      this.fail({ kind: 'garbage', detail: fault });
      return;
    }
    this.#done = true;
    if (!this.#events) clearTimeout(this.#timer);
    const reply = envelope.id ? splice(body, { start: 0, end: body.length }, envelope.id, this.#request.id) : body;
    this.#sink.reply(reply);
  }

  #failTooLarge(): void {
    this.fail({ kind: 'too_large', detail: `the reply is longer than ${String(this.#host.maxReplyBytes)} bytes` });
  }

  #failGarbage(error: unknown): void {
    if (error instanceof ScanError) this.fail({ kind: 'garbage', detail: error.message });
    else if (error instanceof BackendError) this.fail(error.failure);
    else throw error;
  }
}

function onTurn(exchange: HttpExchange): void {
  exchange.takeTurn();
}

function onTimeout(exchange: HttpExchange): void {
  exchange.timedOut();
}
