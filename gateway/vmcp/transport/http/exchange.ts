import type { Dispatcher } from 'undici';
import { ByteCollector } from '../../../bytes/byte-collector.ts';
import { scanBackendEnvelope, ScanError, type Envelope } from '../../../http/json-scan.ts';
import { splice } from '../../../http/json-walk.ts';
import {
  LONGEST_HOLD_MS,
  type BackendFailure,
  type BackendRequest,
  type ReplySink,
  type RequestHandle,
} from '../channel.ts';
import { failureOfError, failureOfStatus, garbage } from '../failure.ts';
import { inLaterTurn } from './long-reply-pace.ts';
import { mediaTypeOf, replyFault, withoutMark } from '../reply.ts';
import { TimeLimit, type Limited } from '../time-limit.ts';
import { BodyDecoder, replyCoding, type BodyReceiver, type PieceSource } from './body-decoder.ts';
import { LARGE_BODY_BYTES } from './body-pieces.ts';
import type { ExchangeHost, Outgoing } from './exchange-host.ts';
import { UNCOUNTED_PARTIAL_BYTES } from '../../budgets/limits.ts';
import { failureOfInvalid, isReplyTo, replyIn } from './json-reply.ts';
import { failureOfRedirect, isRedirect, MAX_REDIRECTS, redirectedPath } from './redirect.ts';
import { hostRefusal, mayRefuseHost, REASON_BYTES } from './refused-host.ts';
import { Resumption } from './resumption.ts';
import { createSseParser, type SseEvent, type SseParser } from '../sse-parser.ts';

/** Time that a line of an event takes, as that of so many bytes. */
const LINE_COST = 64;
/** Lines without an event above which a stream is read in turns. */
const MOST_LINES_AT_ONCE = 10_000;

/**
 * One POST to a streamable HTTP backend and its reply: JSON, or a stream of events that ends with the reply. The sink
 * receives the reply with the id of `request`.
 */
export class HttpExchange implements RequestHandle, Dispatcher.DispatchHandler, BodyReceiver, Limited {
  endsAt: number | undefined;
  earlier: Limited | undefined;
  later: Limited | undefined;
  #request: BackendRequest;
  readonly #sink: ReplySink;
  readonly #host: ExchangeHost;
  readonly #outgoing: Outgoing;
  #path: string;
  #limit: TimeLimit;
  #controller: Dispatcher.DispatchController | undefined;
  #status = 0;
  #retryAfter: string | undefined;
  readonly #pieces = new ByteCollector();
  #received = 0;
  /** Cost of the reply at its last turn. */
  #costBefore = 0;
  #decoder: BodyDecoder | undefined;
  #events: SseParser | undefined;
  /** Why the last event that was ignored is no MCP. */
  #ignored: string | undefined;
  /** Present once an event has arrived. */
  #resumption: Resumption | undefined;
  #redirects = 0;
  /** True while the rest of a reply that redirects is skipped. */
  #isMoved = false;
  /** Content type of a refusal in another format than JSON, whose body may name the reason. */
  #otherType: string | undefined;
  #done = false;
  #isCollecting = false;
  /** The reader that is paused until its next turn. */
  #waiting: PieceSource | undefined;

  constructor(request: BackendRequest, sink: ReplySink, host: ExchangeHost, outgoing: Outgoing) {
    this.#request = request;
    this.#sink = sink;
    this.#host = host;
    this.#outgoing = outgoing;
    this.#path = host.path;
    this.#limit = TimeLimit.of(request.timeoutMs);
    this.#limit.start(this);
    this.#post();
  }

  #post(): void {
    const { headers, body, sign } = this.#outgoing;
    if (sign === undefined) this.#dispatch('POST', headers, body);
    else this.#dispatchSigned(sign(), body);
  }

  #dispatch(method: 'POST' | 'GET', headers: string[], pieces?: Outgoing['body']): void {
    const { dispatcher, origin } = this.#host;
    const path = this.#path;
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
    this.#host.cancelled(this.#outgoing.ownId);
    this.fail({ kind: 'cancelled', detail: reason });
  }

  /** Resumes a long reply after its pause. */
  takeTurn(): void {
    if (!this.#done) this.#waiting?.resume();
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
    this.#host.cancelled(this.#outgoing.ownId);
    this.fail({ kind: 'timeout', detail: `no complete reply after ${String(this.#request.timeoutMs)} ms` });
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
    if (status >= 300 && isRedirect(status)) {
      this.#onRedirect(status, headers['location']);
      return;
    }
    if (status < 300) this.#releaseBody();
    this.#host.replyHeaders?.(headers);
    const type = mediaTypeOf(headers['content-type']);
    if (typeof headers['retry-after'] === 'string') this.#retryAfter = headers['retry-after'];
    const isStream = type === 'text/event-stream' && status === 200;
    if (!isStream && type !== 'application/json') {
      if (!mayRefuseHost(status, headers['content-length'])) {
        this.fail(failureOfStatus(status, type, this.#retryAfter));
        return;
      }
      this.#otherType = type;
    }
    if (headers['content-encoding'] !== undefined) this.#decode(headers['content-encoding']);
    if (isStream) {
      this.#events = createSseParser((event) => {
        (this.#resumption ??= new Resumption()).received(event);
        this.#onEvent(event);
      }, this.#host.maxReplyBytes);
    } else if (Number(headers['content-length'] ?? -1) > this.#host.maxReplyBytes) this.#failTooLarge();
  }

  #onRedirect(status: number, location: string | string[] | undefined): void {
    const from = new URL(this.#host.origin + this.#path);
    // a GET resumes a stream at the path that the POST has found
    const path = this.#resumption ? undefined : redirectedPath('POST', status, location, from);
    if (path === undefined || this.#redirects === MAX_REDIRECTS) {
      this.fail(failureOfRedirect(status, location, from));
      return;
    }
    this.#redirects += 1;
    this.#path = path;
    this.#isMoved = true;
    this.#host.moved(path);
  }

  #decode(header: string | string[]): void {
    try {
      const coding = replyCoding(header);
      this.#decoder = coding && new BodyDecoder(coding, this);
    } catch (error) {
      this.fail(failureOfInvalid(error));
    }
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#done || this.#isMoved || this.#resumption?.isEarly === true) return;
    if (this.#decoder) this.#decoder.push(controller, chunk);
    else this.bodyPiece(controller, chunk);
  }

  bodyPiece(source: PieceSource, piece: Buffer): void {
    if (this.#done) return;
    this.#received += piece.length;
    try {
      if (this.#events) {
        this.#events.push(piece);
        const isLong = this.#collecting(this.#events.pending());
        if (isLong || this.#events.lines() > MOST_LINES_AT_ONCE) this.#takeTurns(source);
      } else if (this.#otherType !== undefined && this.#received > REASON_BYTES)
        this.fail(failureOfStatus(this.#status, this.#otherType, this.#retryAfter));
      else if (this.#received > this.#host.maxReplyBytes) this.#failTooLarge();
      else {
        this.#pieces.push(piece);
        if (this.#collecting(this.#received)) this.#takeTurns(source);
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
    this.#host.cancelled(this.#outgoing.ownId);
    this.fail({ kind: 'overloaded', detail: 'the reply does not fit into the budget', budget: 'reply_bytes' });
    return false;
  }

  /** Releases the body after a 2xx: the request is not repeated. */
  #releaseBody(): void {
    const { params } = this.#request;
    if (params === undefined || params.length <= LARGE_BODY_BYTES) return;
    this.#request = { ...this.#request, params: undefined };
    if (!Buffer.isBuffer(this.#outgoing.body)) this.#outgoing.body.release();
    this.#sink.taken?.();
  }

  onResponseEnd(): void {
    if (this.#done) this.#limit.stop(this);
    else if (this.#isMoved) {
      this.#isMoved = false;
      this.#post();
    } else if (this.#decoder) this.#decoder.end();
    else this.bodyEnded();
  }

  bodyEnded(): void {
    if (this.#done) return;
    try {
      if (this.#events || this.#resumption?.isEarly === true) this.#onStreamLost(this.#withoutReply());
      else if (this.#otherType !== undefined) this.#failWithReason(this.#otherType);
      else this.#onJson(withoutMark(this.#pieces.take()));
    } catch (error) {
      this.fail(failureOfInvalid(error));
    }
  }

  bodyBroken(detail: string): void {
    if (this.#done) return;
    if (this.#events) this.#onStreamLost({ kind: 'unavailable', detail });
    else this.fail(garbage(detail));
  }

  #withoutReply(): BackendFailure {
    const detail = 'the event stream ended before the reply';
    if (this.#ignored === undefined) return { kind: 'unavailable', detail };
    return garbage(`${detail}, behind an event that is not MCP: ${this.#ignored}`);
  }

  /** Fails with the reason that a body names, else with that of the status. */
  #failWithReason(type: string, body = this.#pieces.take()): void {
    const isShort = mayRefuseHost(this.#status, String(body.length));
    this.fail(
      (isShort ? hostRefusal(this.#status, body.toString()) : undefined) ??
        failureOfStatus(this.#status, type, this.#retryAfter),
    );
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    if (this.#done) this.#limit.stop(this);
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
    this.#stopDecoder();
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
    this.#limit.stop(this);
    this.#limit = TimeLimit.of(ms);
    this.#limit.start(this);
  }

  #finish(): void {
    this.#done = true;
    this.#limit.stop(this);
    this.#resumption?.stop();
    this.#stopDecoder();
  }

  #stopDecoder(): void {
    this.#decoder?.destroy();
    this.#decoder = undefined;
  }

  /** Reads one piece per turn of the event loop: a fast socket must not block all other calls. */
  #takeTurns(source: PieceSource): void {
    source.pause();
    this.#waiting = source;
    const cost = this.#received + (this.#events?.lines() ?? 0) * LINE_COST;
    inLaterTurn(cost, cost - this.#costBefore, onTurn, this);
    this.#costBefore = cost;
  }

  #onJson(body: Buffer): void {
    const reply = replyIn(body, this.#status, this.#outgoing.ownId, this.#request, this.#host);
    if (Buffer.isBuffer(reply)) this.#deliver(reply);
    else if (reply) this.#onReply(body, reply);
    else if (this.#status < 300) this.fail(garbage('the reply carries another id'));
    else this.#failWithReason('application/json', body);
  }

  /** Handles an event. Those of another type, and those that are not MCP, are not for clients. */
  #onEvent({ event, data }: SseEvent): void {
    if (this.#done || data.length === 0 || event !== 'message') return;
    const envelope = this.#envelopeOf(data);
    if (!envelope) return;
    if (envelope.method !== undefined) this.#sink.message(data, envelope);
    else if (isReplyTo(this.#outgoing.ownId, data, envelope)) this.#onReply(data, envelope);
    else this.#ignored = 'a reply with another id';
  }

  #envelopeOf(data: Buffer): Envelope | undefined {
    try {
      return scanBackendEnvelope(data);
    } catch (error) {
      if (!(error instanceof ScanError)) throw error;
      this.#ignored = error.message;
      return undefined;
    }
  }

  #onReply(body: Buffer, envelope: Envelope): void {
    const fault = replyFault(body, envelope);
    if (fault === undefined) {
      const { id } = envelope;
      this.#deliver(id ? splice(body, { start: 0, end: body.length }, id, this.#request.id) : body);
    } else this.fail(garbage(fault));
  }

  /** Finishes with a reply. The connection of an event stream ends by itself, so that it can be reused. */
  #deliver(reply: Buffer): void {
    this.#done = true;
    this.#stopDecoder();
    if (!this.#events) this.#limit.stop(this);
    this.#sink.reply(reply);
  }

  #failTooLarge(): void {
    const length = `longer than ${String(this.#host.maxReplyBytes)} bytes`;
    this.fail({ kind: 'too_large', detail: `the reply is ${length}`, cause: `its reply is ${length}` });
  }
}

function onTurn(exchange: HttpExchange): void {
  exchange.takeTurn();
}
