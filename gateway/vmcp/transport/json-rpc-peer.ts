import { scanBackendEnvelope, ScanError, type Envelope } from '../../http/json-scan.ts';
import { arrayElements, skipWhitespace, splice, type Span } from '../../http/json-walk.ts';
import { LONGEST_TIMER_MS } from '../clock.ts';
import {
  DISCOVERY,
  LONGEST_HOLD_MS,
  type BackendFailure,
  type BackendRequest,
  type ReplySink,
  type RequestHandle,
} from './channel.ts';
import { isShared, type Isolation } from './isolation.ts';
import { replyFault } from './reply.ts';
import { findOwnToken, withOwnToken } from './progress-token.ts';
import type { Logger } from '../../contract/logger.ts';

/** How a peer's messages leave. Neither function throws. */
export interface PeerWire {
  /** Sends the request with our id `id`; when that fails, `JsonRpcPeer.failCall` is told. */
  request(message: Buffer, id: number, request: BackendRequest): void;
  /** Sends a notification or a response, best effort; not before the request `after` has left. */
  notify(message: Buffer, after?: number): void;
}

/** One user of a connection: what belongs to no call of a lane comes to its `onMessage`. */
export interface Lane {
  /** `ChannelOwner.key`: lanes of one client session have the same. */
  readonly owner: string;
  readonly onMessage: (message: Buffer, envelope: Envelope) => void;
}

export interface PeerOptions {
  readonly wire: PeerWire;
  /** Backend name, for the log. */
  readonly backend: string;
  /**
   * Sessions that may use this connection. Unless that is one session alone, requests of the backend are refused: nobody can tell
   * which client they are for. Notifications that name no call are dropped, `list_changed` and `updated` excepted: always
   * with `shared`, with `principal` as soon as a second session has come.
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

/** Notifications that are about the backend, not about a call. */
const ABOUT_BACKEND = new Set([
  'notifications/tools/list_changed',
  'notifications/resources/list_changed',
  'notifications/prompts/list_changed',
  'notifications/resources/updated',
]);
/** Calls that the gateway makes for itself: no message of a backend is an answer to them. */
const HOUSEKEEPING = new Set(['initialize', 'ping']);
const METHOD_NOT_FOUND = '"error":{"code":-32601,"message":"Method not found"}';
const QUOTED_BYTES = 200;

/**
 * The JSON-RPC side of one connection to a backend (stdio, HTTP+SSE): own ids and progress tokens, pending calls,
 * timeouts, cancellation, routing. A message of the backend that names no call goes to the call that was started last
 * and still runs; with none, to the lane. It may belong to a call that ended long ago, so this holds for a connection
 * that one session alone has used.
 */
export class JsonRpcPeer {
  readonly #wire: PeerWire;
  readonly #options: PeerOptions;
  readonly #lanes = new Set<Lane>();
  readonly #calls = new Map<number, Call>();
  /** Owner of the first client session that came. */
  #client: string | undefined;
  /** A second client session came. */
  #mixed = false;
  #lastId = 0;
  #closed: BackendFailure | undefined;
  #strays = 0;
  #garbage = 0;

  constructor(options: PeerOptions) {
    this.#options = options;
    this.#wire = options.wire;
  }

  /** Calls that wait for a reply. */
  get running(): number {
    return this.#calls.size;
  }

  /** Messages so far that were no JSON-RPC. */
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

  /** Cancels what the lane still waits for. */
  leave(lane: Lane): void {
    this.#lanes.delete(lane);
    for (const call of [...this.#calls.values()]) if (call.lane === lane) this.#cancel(call, 'the channel was closed');
  }

  /** `sink` is never called before this returns. */
  call(lane: Lane, request: BackendRequest, sink: ReplySink): RequestHandle {
    const id = (this.#lastId += 1);
    const { params, clientToken } = request.params
      ? withOwnToken(request.params, id)
      : { params: undefined, clientToken: undefined };
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
      resume: () => undefined,
      hold: () => {
        restart(LONGEST_HOLD_MS);
      },
      proceed: () => {
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

  /** Fails every call, now and later. */
  close(failure: BackendFailure): void {
    this.#closed ??= failure;
    for (const id of [...this.#calls.keys()]) this.failCall(id, failure);
  }

  /** Takes one message of the backend, or a batch (allowed in 2025-03-26). */
  receive(message: Buffer): void {
    let envelope: Envelope;
    try {
      envelope = scanBackendEnvelope(message);
    } catch (error) {
      if (!(error instanceof ScanError)) throw error;
      this.#onBroken(message, error);
      return;
    }
    const { id, method } = envelope;
    if (method === undefined) this.#onReply(message, envelope);
    else if (id === undefined) this.#onNotification(message, envelope, method);
    else this.#onRequest(message, envelope, method, message.toString('utf8', id.start, id.end));
  }

  #onReply(message: Buffer, envelope: Envelope): void {
    const { id } = envelope;
    const call = id && this.#calls.get(Number(message.toString('latin1', id.start, id.end)));
    if (!call) {
      this.#stray('reply with an unknown id');
      return;
    }
    this.#settle(call);
    const fault = replyFault(message, envelope);
    if (fault === undefined) call.sink.reply(splice(message, wholeOf(message), id, call.request.id));
    else call.sink.fail({ kind: 'garbage', detail: fault });
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
    else if (!this.#deliver(message, envelope)) this.#stray('notification that belongs to no client');
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

  /** False when it is not certain whose message it is. */
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

  #onBroken(message: Buffer, error: ScanError): void {
    if (error.fault === 'batch') {
      for (const { start, end } of arrayElements(message, wholeOf(message)))
        if (message[start] !== OPEN_ARRAY) this.receive(message.subarray(start, end));
      return;
    }
    this.#garbage += 1;
    const id = readReplyId(message);
    if (id !== undefined)
      this.failCall(id, { kind: 'garbage', detail: `a reply that is not JSON-RPC: ${error.message}` });
    if (!isRare(this.#garbage)) return;
    const line = message.toString('utf8', 0, QUOTED_BYTES);
    const { backend, log } = this.#options;
    log.warn('backend wrote something that is not JSON-RPC', {
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
    this.#giveUp(
      call,
      { kind: 'timeout', detail: `no complete reply after ${call.request.timeoutMs} ms` },
      'timed out',
    );
  }

  #cancel(call: Call, reason: string): void {
    this.#giveUp(call, { kind: 'cancelled', detail: reason }, reason);
  }

  #giveUp(call: Call, failure: BackendFailure, reason: string): void {
    if (!this.#settle(call)) return;
    // A client must not cancel `initialize` (MCP, Cancellation).
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

/** The first, second, fourth, eighth ... time: enough for a log. */
const isRare = (count: number): boolean => (count & (count - 1)) === 0;

function requestText(id: number, method: string, params: Buffer | undefined): Buffer {
  const head = `{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)}`;
  return params ? Buffer.concat([Buffer.from(`${head},"params":`), params, Buffer.from('}')]) : Buffer.from(`${head}}`);
}

const cancelledText = (id: number, reason: string): Buffer =>
  Buffer.from(
    `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${id},"reason":${JSON.stringify(reason)}}}`,
  );

/** Which call a reply that the scan refused was meant for, so that its client need not wait for the timeout. */
function readReplyId(message: Buffer): number | undefined {
  try {
    const value: unknown = JSON.parse(message.toString('utf8'));
    if (typeof value !== 'object' || value === null || 'method' in value || !('id' in value)) return undefined;
    return typeof value.id === 'number' ? value.id : undefined;
  } catch {
    return undefined;
  }
}
