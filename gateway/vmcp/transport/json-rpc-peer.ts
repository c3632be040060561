import { scanBackendEnvelope, ScanError, type Envelope } from '../../http/json-scan.ts';
import { arrayElements, memberOf, skipWhitespace, splice, type Span } from '../../http/json-walk.ts';
import { LONGEST_TIMER_MS } from '../../kit/time.ts';
import { SUBSCRIPTION_ID } from '../../contract/protocol/revisions.ts';
import {
  DISCOVERY,
  LONGEST_HOLD_MS,
  type BackendFailure,
  type BackendRequest,
  type ReplySink,
  type RequestHandle,
} from './channel.ts';
import { garbage } from './failure.ts';
import { isShared, type Isolation } from './isolation.ts';
import { numberOfId, replyFault, withoutMark } from './reply.ts';
import { cancelledText, isRare, readReplyId, requestText } from './peer-messages.ts';
import { findOwnToken, withOwnToken } from './progress-token.ts';
import type { Logger } from '../../contract/logger.ts';

/** Output of a peer. Neither function throws. */
export interface PeerWire {
  /** Sends the request with the gateway's id `id`. Reports an error by `JsonRpcPeer.failCall`. */
  request(message: Buffer, id: number, request: BackendRequest): void;
  /** Sends a notification or a response and ignores errors; not before the request `after` is sent. */
  notify(message: Buffer, after?: number): void;
}

/** One user of a connection. Its `onMessage` receives messages that belong to no call. */
export interface Lane {
  /** `ChannelOwner.key`: equal for all lanes of one client session. */
  readonly owner: string;
  readonly onMessage: (message: Buffer, envelope: Envelope) => void;
}

export interface PeerOptions {
  readonly wire: PeerWire;
  /** Backend name, for the log. */
  readonly backend: string;
  /**
   * Sessions that may use this connection. When several may, requests of the backend are rejected, because their client
   * is unknown. Notifications that name no call are dropped, except `list_changed` and `updated`: always with `shared`,
   * after a second session has joined with `principal`.
   */
  readonly isolation: Isolation;
  readonly log: Logger;
}

interface Call {
  readonly id: number;
  readonly request: BackendRequest;
  readonly sink: ReplySink;
  readonly lane: Lane;
  readonly clientToken: Buffer | undefined;
  timer: NodeJS.Timeout;
}

/** Notifications about the backend, not about a call. */
const ABOUT_BACKEND = new Set([
  'notifications/tools/list_changed',
  'notifications/resources/list_changed',
  'notifications/prompts/list_changed',
  'notifications/resources/updated',
]);
/** Calls of the gateway itself: messages of a backend never belong to them. */
const HOUSEKEEPING = new Set(['initialize', 'ping', 'server/discover', 'subscriptions/listen']);
const METHOD_NOT_FOUND = '"error":{"code":-32601,"message":"Method not found"}';
const QUOTED_BYTES = 200;

/**
 * The JSON-RPC side of one connection to a backend (stdio, HTTP+SSE): ids and progress tokens of the gateway, pending
 * calls, timeouts, cancellation and routing. A message that names no call goes to the running call that started last,
 * else to the lane. It may belong to an earlier call, so this is done only on a connection that a single session has
 * used.
 */
export class JsonRpcPeer {
  readonly #wire: PeerWire;
  readonly #options: PeerOptions;
  readonly #lanes = new Set<Lane>();
  readonly #calls = new Map<number, Call>();
  /** Owner of the first client session. */
  #client: string | undefined;
  /** True after a second client session has joined. */
  #mixed = false;
  #lastId = 0;
  #closed: BackendFailure | undefined;
  #strays = 0;
  #garbage = 0;

  constructor(options: PeerOptions) {
    this.#options = options;
    this.#wire = options.wire;
  }

  /** Number of calls that wait for a reply. */
  get running(): number {
    return this.#calls.size;
  }

  /** Number of messages that were not JSON-RPC. */
  get garbage(): number {
    return this.#garbage;
  }

  get lanes(): number {
    return this.#lanes.size;
  }

  join(lane: Lane): void {
    this.#lanes.add(lane);
    if (lane.owner === DISCOVERY) return;
    this.#client ??= lane.owner;
    this.#mixed ||= this.#client !== lane.owner;
  }

  /** Cancels the running calls of the lane. */
  leave(lane: Lane): void {
    this.#lanes.delete(lane);
    for (const call of [...this.#calls.values()]) if (call.lane === lane) this.#cancel(call, 'the channel was closed');
  }

  /** Sends a request. `sink` is never called before this returns. */
  call(lane: Lane, request: BackendRequest, sink: ReplySink): RequestHandle {
    const id = (this.#lastId += 1);
    const { params, givenToken: clientToken } = request.params
      ? withOwnToken(request.params, id)
      : { params: undefined, givenToken: undefined };
    const after = (ms: number): NodeJS.Timeout =>
      setTimeout(
        () => {
          this.#expire(call);
        },
        Math.min(ms, LONGEST_TIMER_MS),
      );
    const restart = (ms: number): void => {
      if (!this.#calls.has(id)) return;
      clearTimeout(call.timer);
      call.timer = after(ms);
    };
    const call: Call = { id, request, sink, lane, clientToken, timer: after(request.timeoutMs) };
    this.#calls.set(id, call);
    const refusal = this.#closed ?? (this.#lanes.has(lane) ? undefined : CLOSED_CHANNEL);
    if (refusal) queueMicrotask(() => this.failCall(id, refusal));
    else this.#wire.request(requestText(id, request.method, params), id, request);
    return {
      cancel: (reason) => {
        this.#cancel(call, reason);
      },
      pauseTimeout: () => {
        restart(LONGEST_HOLD_MS);
      },
      restartTimeout: () => {
        restart(request.timeoutMs);
      },
    };
  }

  send(message: Buffer): void {
    if (!this.#closed) this.#wire.notify(message);
  }

  failCall(id: number, failure: BackendFailure): void {
    const call = this.#calls.get(id);
    if (call && this.#settle(call)) call.sink.fail(failure);
  }

  /** Fails all running calls, and each later call. */
  close(failure: BackendFailure): void {
    this.#closed ??= failure;
    for (const id of [...this.#calls.keys()]) this.failCall(id, failure);
  }

  /** Handles one message of the backend, or a batch (allowed in 2025-03-26). */
  receive(text: Buffer): void {
    const message = withoutMark(text);
    let envelope: Envelope;
    try {
      envelope = scanBackendEnvelope(message);
    } catch (error) {
      if (!(error instanceof ScanError)) throw error;
      this.#onInvalid(message, error);
      return;
    }
    const { id, method } = envelope;
    if (method === undefined) this.#onReply(message, envelope);
    else if (id === undefined) this.#onNotification(message, envelope, method);
    else this.#onRequest(message, envelope, method, message.toString('utf8', id.start, id.end));
  }

  #onReply(message: Buffer, envelope: Envelope): void {
    const { id } = envelope;
    const call = id && this.#calls.get(numberOfId(message, id));
    if (!call) {
      this.#stray('reply with an unknown id');
      return;
    }
    this.#settle(call);
    const fault = replyFault(message, envelope);
    if (fault === undefined) call.sink.reply(splice(message, wholeOf(message), id, call.request.id));
    else call.sink.fail(garbage(fault));
  }

  #onRequest(message: Buffer, envelope: Envelope, method: string, id: string): void {
    if (method === 'ping') {
      this.#wire.notify(Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":{}}`));
      return;
    }
    if (!isShared(this.#options.isolation) && this.#deliver(message, envelope)) return;
    this.#wire.notify(Buffer.from(`{"jsonrpc":"2.0","id":${id},${METHOD_NOT_FOUND}}`));
  }

  #onNotification(message: Buffer, envelope: Envelope, method: string): void {
    if (method === 'notifications/progress') this.#onProgress(message, envelope);
    else if (ABOUT_BACKEND.has(method)) for (const lane of [...this.#lanes]) lane.onMessage(message, envelope);
    else if (method === 'notifications/cancelled' && this.#endSubscription(message, envelope)) return;
    else if (this.#onSubscription(message, envelope)) return;
    else if (method === 'notifications/subscriptions/acknowledged' || !this.#deliver(message, envelope))
      this.#stray('notification that belongs to no client');
  }

  /** Passes on a notification of `subscriptions/listen`, which names its request. Returns false for another one. */
  #onSubscription(message: Buffer, envelope: Envelope): boolean {
    const id = memberOf(message, memberOf(message, envelope.params, '_meta'), SUBSCRIPTION_ID);
    if (!id) return false;
    const call = this.#calls.get(Number(message.toString('latin1', id.start, id.end)));
    if (call?.request.method === 'subscriptions/listen') call.sink.message(message, envelope);
    else this.#stray('notification of an unknown subscription');
    return true;
  }

  /** Ends the `subscriptions/listen` that a backend cancels. Returns false for another request. @see MCP 2026-07-28, basic/patterns/cancellation */
  #endSubscription(message: Buffer, { params }: Envelope): boolean {
    const id = memberOf(message, params, 'requestId');
    const call = id && this.#calls.get(Number(message.toString('latin1', id.start, id.end)));
    if (call?.request.method !== 'subscriptions/listen') return false;
    this.failCall(call.id, { kind: 'unavailable', detail: 'the backend has ended the subscription' });
    return true;
  }

  #onProgress(message: Buffer, { params }: Envelope): void {
    const token = findOwnToken(message, params);
    const call = token && this.#calls.get(token.own);
    if (call?.clientToken === undefined || token === undefined) {
      this.#stray('progress with an unknown token');
      return;
    }
    const mapped = splice(message, wholeOf(message), token.at, call.clientToken);
    call.sink.message(mapped, scanBackendEnvelope(mapped));
  }

  /** Returns false when the client of the message is not certain. */
  #deliver(message: Buffer, envelope: Envelope): boolean {
    if (this.#options.isolation === 'shared' || this.#mixed) return false;
    const isClients = ({ owner }: Lane): boolean => owner === this.#client;
    const last = [...this.#calls.values()].findLast(
      ({ request, lane }) => isClients(lane) && !HOUSEKEEPING.has(request.method),
    );
    if (last) {
      last.sink.message(message, envelope);
      return true;
    }
    const lane = [...this.#lanes].findLast(isClients);
    lane?.onMessage(message, envelope);
    return lane !== undefined;
  }

  #onInvalid(message: Buffer, error: ScanError): void {
    if (error.fault === 'batch') {
      for (const { start, end } of arrayElements(message, wholeOf(message)))
        if (message[start] !== OPEN_ARRAY) this.receive(message.subarray(start, end));
      return;
    }
    this.#garbage += 1;
    const id = readReplyId(message);
    if (id !== undefined) this.failCall(id, garbage(`a reply that is not JSON-RPC: ${error.message}`));
    if (!isRare(this.#garbage)) return;
    const line = message.toString('utf8', 0, QUOTED_BYTES);
    const { backend, log } = this.#options;
    log.warn('backend sent a message that is not JSON-RPC', {
      backend,
      reason: error.message,
      line,
      count: this.#garbage,
    });
  }

  #stray(reason: string): void {
    this.#strays += 1;
    const { backend, log } = this.#options;
    if (isRare(this.#strays)) log.debug('message of a backend ignored', { backend, reason, count: this.#strays });
  }

  #expire(call: Call): void {
    this.#abandon(
      call,
      { kind: 'timeout', detail: `no complete reply after ${call.request.timeoutMs} ms` },
      'timed out',
    );
  }

  #cancel(call: Call, reason: string): void {
    this.#abandon(call, { kind: 'cancelled', detail: reason }, reason);
  }

  #abandon(call: Call, failure: BackendFailure, reason: string): void {
    if (!this.#settle(call)) return;
    // a client must not cancel `initialize` (MCP 2025-11-25, basic/utilities/cancellation)
    if (!this.#closed && call.request.method !== 'initialize')
      this.#wire.notify(cancelledText(call.id, reason), call.id);
    call.sink.fail(failure);
  }

  #settle(call: Call): boolean {
    clearTimeout(call.timer);
    return this.#calls.delete(call.id);
  }
}

const OPEN_ARRAY = 0x5b;
const CLOSED_CHANNEL: BackendFailure = { kind: 'unavailable', detail: 'the channel is closed' };

const wholeOf = (message: Buffer): Span => ({ start: skipWhitespace(message, 0), end: message.length });
