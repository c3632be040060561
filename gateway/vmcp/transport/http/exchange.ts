import type { Dispatcher } from 'undici';
import { ByteCollector } from '../../../bytes/byte-collector.ts';
import { scanBackendEnvelope, type Envelope } from '../../../http/json-scan.ts';
import { memberOf, splice } from '../../../http/json-walk.ts';
import { ReplyRewriter } from '../../../http/reply-rewriter.ts';
import {
  LONGEST_HOLD_MS,
  type BackendFailure,
  type BackendRequest,
  type ReplySink,
  type RequestHandle,
} from '../channel.ts';
import { failureOfError, failureOfStatus } from '../failure.ts';
import { inLaterTurn } from './long-reply-pace.ts';
import { mediaTypeOf } from '../media-type.ts';
import { replyFault } from '../reply.ts';
import { LARGE_BODY_BYTES } from './body-pieces.ts';
import type { ExchangeHost, Outgoing } from './exchange-host.ts';
import { UNCOUNTED_PARTIAL_BYTES } from '../../budgets/limits.ts';
import { failureOfInvalid, isLostSession, isReplyTo, scanReply } from './json-reply.ts';
import { Resumption } from './resumption.ts';
import { createSseParser, type SseParser } from '../sse-parser.ts';

/** Longer replies are forwarded while they arrive. */
const STREAM_ABOVE_BYTES = 256 * 1024;
/** Pieces of them are joined up to this length: whoever keeps or sends them pays more for a piece than for its bytes. */
const FORWARDED_BYTES = 16 * 1024;
/** Time that a line of an event takes, as that of so many bytes. */
const LINE_COST = 64;
/** Lines without an event above which a stream is read in turns. */
const MOST_LINES_AT_ONCE = 10_000;

/**
 * One POST to a streamable HTTP backend and its reply: JSON, or a stream of events that ends with the reply. The sink
 * receives the reply with the id of `request`.
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
  readonly #pieces = new ByteCollector();
  #received = 0;
  /** Cost of the reply at its last turn. */
  #costBefore = 0;
  #expected = -1;
  #events: SseParser | undefined;
  /** Present once an event has arrived. */
  #resumption: Resumption | undefined;
  #rewriter: ReplyRewriter | undefined;
  #done = false;
  #isCollecting = false;
  /** True while the client does not read fast enough. */
  #paused = false;

  constructor(request: BackendRequest, sink: ReplySink, host: ExchangeHost, outgoing: Outgoing) {
    this.#request = request;
    this.#sink = sink;
    this.#host = host;
    this.#ownId = outgoing.ownId;
    this.#timer = setTimeout(onTimeout, request.timeoutMs, this);
    const { headers, body, sign } = outgoing;
    if (sign === undefined) this.#dispatch('POST', headers, body);
    else this.#dispatchSigned(sign(), body);
  }

  #dispatch(method: 'POST' | 'GET', headers: string[], pieces?: Outgoing['body']): void {
    const { dispatcher, origin, path } = this.#host;
    const body = (pieces ?? null) as Buffer | null; // undici accepts iterables, which its types do not declare
    dispatcher.dispatch({ origin, path, method, headers, body, headersTimeout: 0, bodyTimeout: 0 }, this);
  }

  #dispatchSigned(signed: Promise<string[]>, body: Outgoing['body']): void {
    const send = (headers: string[]): void => {
      if (!this.#done) this.#dispatch('POST', headers, body);
    };
    signed.then(send).catch((error: unknown) => {
      this.fail(failureOfError(error));
    });
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

  /** Resumes a long reply after its pause, unless the client has paused it meanwhile. */
  takeTurn(): void {
    if (!this.#paused && !this.#done) this.#controller?.resume();
  }

  pauseTimeout(): void {
    this.#restartTimer(LONGEST_HOLD_MS);
  }

  restartTimeout(): void {
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
    if (this.#done) controller.abort(new Error('no longer needed'));
  }

  onResponseStart(
    _: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (status < 200) return;
    if (this.#resumption?.isTooEarly(status) === true) return;
    this.#status = status;
    if (status < 300) this.#releaseBody();
    this.#host.replyHeaders?.(headers);
    const type = mediaTypeOf(headers['content-type']);
    if (typeof headers['retry-after'] === 'string') this.#retryAfter = headers['retry-after'];
    if (type === 'text/event-stream' && status === 200) {
      this.#events = createSseParser((event) => {
        (this.#resumption ??= new Resumption()).received(event);
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
    if (this.#done || this.#resumption?.isEarly === true) return;
    this.#received += chunk.length;
    try {
      if (this.#events) {
        this.#events.push(chunk);
        const isLong = this.#collecting(this.#events.pending());
        if (isLong || this.#events.lines() > MOST_LINES_AT_ONCE) this.#takeTurns(controller);
      } else if (this.#received > this.#host.maxReplyBytes) this.#failTooLarge();
      else {
        this.#pieces.push(chunk);
        if (this.#rewriter) {
          if (this.#pieces.length >= FORWARDED_BYTES) this.#pass(controller, this.#rewriter);
        } else if (this.#status !== 200) this.#collecting(this.#received);
        else if (this.#received > STREAM_ABOVE_BYTES) this.#startStreaming(controller);
      }
    } catch (error) {
      this.fail(failureOfInvalid(error));
    }
  }

  /** Counts a reply that must be complete before it is forwarded. Returns true while a long one arrives. */
  #collecting(bytes: number): boolean {
    if (this.#done || (bytes <= UNCOUNTED_PARTIAL_BYTES && !this.#isCollecting)) return false;
    this.#isCollecting = bytes > UNCOUNTED_PARTIAL_BYTES;
    if (this.#sink.collecting?.(this.#isCollecting ? bytes : 0) !== false) return this.#isCollecting;
    this.#host.cancelled(this.#ownId);
    this.fail({ kind: 'overloaded', detail: 'the reply does not fit into the budget', budget: 'reply_bytes' });
    return false;
  }

  /** Releases the body after a 2xx: the request is not repeated. */
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
      if (this.#events || this.#resumption?.isEarly === true)
        this.#onStreamLost({ kind: 'unavailable', detail: 'the event stream ended before the reply' });
      else if (this.#rewriter) {
        if (this.#pieces.length > 0) this.#sink.part(this.#rewriter.push(this.#pieces.take()));
        this.#rewriter.end();
        this.#finish();
        this.#sink.end();
      } else this.#onJson(this.#pieces.take());
    } catch (error) {
      this.fail(failureOfInvalid(error));
    }
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    if (this.#done) clearTimeout(this.#timer);
    else this.#onStreamLost(failureOfError(error));
  }

  fail(reason: BackendFailure): void {
    if (this.#done) return;
    const failure: BackendFailure =
      reason.kind === 'session_lost' && !this.#host.hasSession ? { ...reason, kind: 'refused' } : reason;
    this.#finish();
    this.#controller?.abort(new Error(failure.kind));
    if (failure.kind === 'session_lost') this.#host.sessionLost();
    // a stream that had begun means that the backend accepted the request: it must not be repeated
    const mayBeRepeated = failure.kind === 'session_lost' || failure.kind === 'unauthenticated';
    this.#sink.fail(mayBeRepeated ? (this.#resumption?.brokenBy ?? failure) : failure);
  }

  /** Resumes a stream whose events have ids by GET: a backend may close it at any time. */
  #onStreamLost(failure: BackendFailure): void {
    const wasStream = this.#events !== undefined || this.#resumption?.isEarly === true;
    const open = (lastEventId: string): void => {
      this.#resume(lastEventId, failure);
    };
    if (wasStream && this.#resumption?.schedule(failure, open) === true) this.#events = undefined;
    else this.fail(failure);
  }

  #resume(lastEventId: string, failure: BackendFailure): void {
    this.#host.resumeHeaders(lastEventId).then(
      (headers) => {
        if (!this.#done) this.#dispatch('GET', headers);
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
    this.#resumption?.stop();
  }

  #startStreaming(controller: Dispatcher.DispatchController): void {
    this.#rewriter = new ReplyRewriter(this.#ownId, this.#request.id);
    this.#pass(controller, this.#rewriter);
  }

  #pass(controller: Dispatcher.DispatchController, rewriter: ReplyRewriter): void {
    this.#paused = !this.#sink.part(rewriter.push(this.#pieces.take()));
    this.#takeTurns(controller);
  }

  /** Reads one piece per turn of the event loop: a fast socket must not block all other calls. */
  #takeTurns(controller: Dispatcher.DispatchController): void {
    controller.pause();
    const cost = this.#received + (this.#events?.lines() ?? 0) * LINE_COST;
    if (!this.#paused) inLaterTurn(cost, cost - this.#costBefore, onTurn, this);
    this.#costBefore = cost;
  }

  #onJson(body: Buffer): void {
    const isRefusal = this.#status >= 500 || this.#status === 401 || this.#status === 403;
    const envelope = isRefusal ? undefined : scanReply(body, this.#status);
    const isOwn = envelope && isReplyTo(this.#ownId, body, envelope);
    if (!isOwn || this.#isSessionLost(body, envelope) || this.#isRejected(body, envelope)) {
      this.fail(failureOfStatus(this.#status, 'application/json', this.#retryAfter));
      return;
    }
    this.#onReply(body, envelope);
  }

  #isSessionLost(body: Buffer, envelope: Envelope): boolean {
    return this.#status === 404 && this.#host.hasSession && isLostSession(body, envelope, this.#request.repeated);
  }

  #isRejected(body: Buffer, { error }: Envelope): boolean {
    const code = this.#status === 400 && this.#host.rejected ? memberOf(body, error, 'code') : undefined;
    if (!code) return false;
    return this.#host.rejected?.(Number(body.toString('latin1', code.start, code.end)), this.#request.method) === true;
  }

  #onEvent(data: Buffer): void {
    if (this.#done || data.length === 0) return;
    const envelope = scanBackendEnvelope(data);
    if (envelope.method !== undefined) this.#sink.message(data, envelope);
    else if (isReplyTo(this.#ownId, data, envelope)) this.#onReply(data, envelope);
    else this.fail({ kind: 'garbage', detail: 'a reply with another id on the stream of a request' });
  }

  /** Finishes with a reply. The connection of an event stream ends by itself, so that it can be reused. */
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
}

function onTurn(exchange: HttpExchange): void {
  exchange.takeTurn();
}

function onTimeout(exchange: HttpExchange): void {
  exchange.timedOut();
}
