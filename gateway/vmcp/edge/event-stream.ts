import type { ServerResponse } from 'node:http';
import type { Writable } from 'node:stream';
import type { Identity } from '../../contract/identity.ts';
import type { Account } from '../budgets/account.ts';
import type { HeldBytes } from '../budgets/byte-budget.ts';
import type { WatchingCall } from '../answers/answer.ts';
import type { LoggedEvent, StreamLog } from '../stream-log.ts';
import { RESUME_WITHIN_MS, UNCOUNTED_OUTPUT_BYTES } from '../budgets/limits.ts';
import { CODE } from '../error-codes.ts';
import { errorMessage } from '../message.ts';
import { KeptEvents } from './kept-events.ts';

/** A connection with more unread bytes than the longest reply is closed; the client may resume with `Last-Event-ID`. */
const MAX_UNREAD_BYTES = 32 * 1024 * 1024;
/** Memory of one unread write beside its bytes. */
const WRITE_BYTES = 512;

const SSE_HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'private, no-store',
  'x-accel-buffering': 'no',
};

/** Connection of a stream: the response to a client, or the way to a replica that has the client. */
export type StreamConnection = Writable & Partial<Pick<ServerResponse, 'writeHead' | 'flushHeaders'>>;

interface EventStreamOptions {
  /** False: events have no id and are not kept, and the stream ends with its connection. */
  readonly resumes?: boolean;
  /** True for bytes of another replica, which sends comments too: one of this process may interrupt an event. */
  readonly isCopy?: boolean;
  /** Log from which other replicas continue the stream. */
  readonly log?: StreamLog | undefined;
  /** JSON text of the id of the request that the stream answers. */
  readonly request?: string | undefined;
  /** Takes over a message for a stream that another replica holds. Returns false when none does. */
  readonly elsewhere?: ((message: Buffer) => boolean) | undefined;
  readonly onEnd?: () => void;
}

/**
 * One event stream of a session. It outlives its connection: a client that lost its connection resumes with
 * `Last-Event-ID` after the last event it received. @see MCP 2025-11-25, basic/transports, Resumability
 */
export class EventStream {
  readonly id: string;
  /** Identity of the request that opened the connection; undefined: anonymous. */
  openedBy: Identity | undefined;
  /** Number of the last event. */
  #sequence = 0;
  readonly #kept: KeptEvents;
  #connection: StreamConnection | undefined;
  #listenedTo = false;
  #ended = false;
  /** True when the client accepts events without data. */
  #isPrimed = false;
  #isAbandoned = false;
  readonly #account: Account;
  readonly #onEnd: (() => void) | undefined;
  readonly #resumes: boolean;
  readonly #isCopy: boolean;
  readonly #log: StreamLog | undefined;
  readonly #request: string;
  readonly #elsewhere: EventStreamOptions['elsewhere'];
  /** Budget share of the bytes that the connection has not sent yet. */
  #unread: HeldBytes | undefined;
  /** Number of writes since the connection had nothing to send. */
  #writes = 0;
  /** The call whose reply this stream carries. */
  #call: WatchingCall | undefined;
  #abandonTimer: NodeJS.Timeout | undefined;

  constructor(id: string, account: Account, options: EventStreamOptions = {}) {
    this.id = id;
    this.#account = account;
    this.#kept = new KeptEvents(account);
    this.#resumes = options.resumes ?? true;
    this.#isCopy = options.isCopy ?? false;
    this.#onEnd = options.onEnd;
    this.#log = options.log;
    this.#request = options.request ?? '';
    this.#elsewhere = options.elsewhere;
  }

  /** Bytes kept for a client that reconnects. */
  get keptBytes(): number {
    return this.#kept.bytes;
  }

  get ended(): boolean {
    return this.#ended;
  }

  get connected(): boolean {
    return this.#connection?.destroyed === false;
  }

  /** True when the client stayed disconnected for longer than it may take to resume. */
  get isAbandoned(): boolean {
    return this.#isAbandoned;
  }

  /** Returns true when event `after` belongs to this stream, and nothing comes after it. */
  isOverAfter(after: number): boolean {
    return this.#ended && after <= this.#sequence && this.#kept.after(after).length === 0;
  }

  /** True while the client is connected to another replica, which checks its token. */
  get isPiped(): boolean {
    return this.#connection !== undefined && this.#connection.writeHead === undefined;
  }

  /**
   * Writes to this connection from now on, starting with the kept events after event `after`. Returns false when these
   * are not kept any more. The stream of a call continues all the same, because its reply is still to come.
   */
  attach(res: StreamConnection, after?: number, identity?: Identity): boolean {
    const first = this.#kept.first ?? this.#sequence + 1;
    if (after !== undefined && (after > this.#sequence || (after < first - 1 && this.#request === ''))) return false;
    this.#connection?.end();
    this.#connection = res;
    this.openedBy = identity;
    this.#unread = undefined; // the previous connection releases its own share
    this.#listenedTo = true;
    clearTimeout(this.#abandonTimer);
    res.writeHead?.(200, SSE_HEADERS);
    res.flushHeaders?.();
    if (after !== undefined) this.#repeat(res, after);
    if (this.#ended) res.end();
    else {
      res.on('close', () => {
        if (this.#connection !== res) return;
        this.#connection = undefined;
        if (!this.#resumes) this.end();
        if (this.#call) this.onAbandoned(this.#call);
      });
    }
    return true;
  }

  /** Takes over a connection whose response has already started. */
  adopt(res: ServerResponse, identity: Identity | undefined): void {
    this.#connection = res;
    this.openedBy = identity;
    this.#listenedTo = true;
  }

  /** Notifies `call` when the client stays disconnected for longer than it may take to resume. */
  onAbandoned(call: WatchingCall): void {
    this.#call = call;
    clearTimeout(this.#abandonTimer);
    if (!this.#resumes) {
      call.clientLeft();
      return;
    }
    if (this.#ended || this.connected) return;
    this.#abandonTimer = setTimeout(() => {
      this.#isAbandoned = true;
      call.clientLeft();
    }, RESUME_WITHIN_MS).unref();
  }

  /**
   * Writes the kept events after event `after`. Without any, repeats its id: SDK clients resume only after the last id of the
   * current connection.
   */
  #repeat(res: StreamConnection, after: number): void {
    const missed = this.#kept.after(after);
    for (const bytes of missed) res.write(bytes);
    if (missed.length === 0 && this.#isPrimed && !this.#ended) res.write(this.#eventOf(after, NO_DATA));
  }

  /** Drops the events kept for a reconnect. */
  forget(): void {
    this.#kept.forget();
  }

  /** Sends an event without data. Its id lets the client reconnect before the first message. */
  prime(): void {
    this.#isPrimed = true;
    this.#emit(NO_DATA);
  }

  /** Sends one event. Line breaks, which JSON allows only between tokens, become spaces. */
  send(message: Buffer): void {
    if (this.#elsewhere?.(message) !== true) this.sendHere(message);
  }

  /** Sends an event although another replica may have the stream. */
  sendHere(message: Buffer): void {
    this.#emit(oneLine(message));
  }

  /** Sends the reply of the call, and ends the stream. */
  reply(message: Buffer): void {
    if (!this.#emit(oneLine(message))) this.#keepError();
    this.end();
  }

  /**
   * Continues a stream of another replica, to which the client has connected. `last` is the number of its last event, and
   * `events` are those that are still kept.
   */
  continueFrom(events: readonly LoggedEvent[], last: number): void {
    this.forget();
    this.#listenedTo = true;
    this.#sequence = last;
    for (const { sequence, bytes } of events) {
      this.#sequence = sequence;
      if (bytes) this.#kept.add({ sequence, bytes });
    }
  }

  /** Writes bytes of the same stream at another replica. Returns false when they are still buffered. */
  pass(bytes: Buffer): boolean {
    return this.#write(bytes);
  }

  comment(text: string): void {
    if (!this.#isCopy) this.#write(`: ${text}\n\n`);
  }

  /**
   * Closes the connection but not the stream, so that the client resumes with `Last-Event-ID`. A long event is finished
   * first.
   */
  detach(): void {
    if (!this.#resumes) {
      this.end();
      return;
    }
    this.#connection?.end();
    this.#connection = undefined;
  }

  end(): void {
    this.#ended = true;
    clearTimeout(this.#abandonTimer);
    this.#connection?.end();
    this.#connection = undefined;
    this.#logged(this.#sequence + 1, undefined);
    this.#onEnd?.();
  }

  #headOf(sequence: number): string {
    return `event: message\nid: ${this.id}.${String(sequence)}\ndata: `;
  }

  #eventOf(sequence: number, data: Buffer): Buffer {
    return Buffer.concat([Buffer.from(this.#headOf(sequence)), data, EVENT_END]);
  }

  /**
   * Writes and keeps an event. Nothing is kept until the client has connected once. Returns false for an event that is too long to be
   * kept.
   */
  #emit(data: Buffer): boolean {
    if (!this.#listenedTo) return true;
    if (!this.#resumes) {
      this.#write(Buffer.concat([UNKEPT_HEAD, data, EVENT_END]));
      return true;
    }
    const sequence = (this.#sequence += 1);
    const bytes = this.#eventOf(sequence, data);
    const isKept = this.#kept.add({ sequence, bytes });
    this.#logged(sequence, bytes, this.connected ? undefined : data);
    this.#write(bytes);
    return isKept;
  }

  /** Keeps an error in place of the reply, which is the last event, for a client that has not received the whole reply. */
  #keepError(): void {
    if (!this.#resumes || !this.#listenedTo) return;
    const error = errorMessage(Buffer.from(this.#request), CODE.internal, REPLY_LOST, { reason: 'reply_lost' });
    const bytes = this.#eventOf(this.#sequence, error);
    this.#kept.add({ sequence: this.#sequence, bytes });
    this.#logged(this.#sequence, bytes);
  }

  /** Lets other replicas know of an event; without `bytes` of the end of the stream. */
  #logged(sequence: number, bytes: Buffer | undefined, unsent?: Buffer): void {
    if (!this.#log || !this.#resumes || !this.#listenedTo) return;
    const { first } = this.#kept;
    if (bytes && first === undefined) return; // too long to be kept
    this.#log.append(this.id, first ?? sequence, { sequence, bytes, request: this.#request }, unsent);
  }

  /** Returns false when the bytes are still buffered. */
  #write(bytes: Buffer | string): boolean {
    const res = this.#connection;
    if (!res) return true;
    if (!this.#holdUnread(res, bytes.length)) {
      this.#connection = undefined;
      res.destroy();
      return true;
    }
    return res.write(bytes) || res.destroyed;
  }

  /**
   * Counts the buffered writes of the connection until they are sent. Returns false when there are too many, or `more` bytes
   * exceed the budget.
   */
  #holdUnread(res: StreamConnection, more: number): boolean {
    this.#writes = res.writableLength === 0 ? 0 : this.#writes + 1;
    const buffered = res.writableLength + this.#writes * WRITE_BYTES;
    if (buffered > MAX_UNREAD_BYTES) return false;
    const unread = buffered + more;
    if (unread <= UNCOUNTED_OUTPUT_BYTES) {
      this.#unread?.resize(0);
      return true;
    }
    const isHeld = this.#unread !== undefined;
    const held = (this.#unread ??= this.#account.reply());
    if (!held.resize(unread)) {
      this.#account.refused('unread_bytes');
      return false;
    }
    if (!isHeld) {
      const release = (): void => {
        held.release();
        if (this.#unread === held) this.#unread = undefined;
      };
      onceDrained(res, release);
    }
    return true;
  }
}

/** Calls back once when the buffered bytes are sent or the connection is closed. */
function onceDrained(res: Writable, callback: () => void): void {
  const done = (): void => {
    res.off('drain', done).off('close', done);
    callback();
  };
  res.once('drain', done).once('close', done);
}

const EVENT_END = Buffer.from('\n\n');
const NO_DATA = Buffer.alloc(0);
/** Begin of an event of a stream that is never resumed. */
const UNKEPT_HEAD = Buffer.from('event: message\ndata: ');
const REPLY_LOST = 'the connection was lost before the whole reply arrived: send the request again';

function oneLine(message: Buffer): Buffer {
  if (!message.includes(0x0a) && !message.includes(0x0d)) return message;
  const copy = Buffer.from(message);
  for (let at = 0; at < copy.length; at += 1) if (copy[at] === 0x0a || copy[at] === 0x0d) copy[at] = 0x20;
  return copy;
}

/** Parses a `Last-Event-ID`: `<stream>.<sequence>`. */
export function readEventId(text: string): { readonly stream: string; readonly sequence: number } | undefined {
  const match = /^([a-z0-9]{1,20})\.([0-9]{1,10})$/.exec(text);
  return match?.[1] === undefined ? undefined : { stream: match[1], sequence: Number(match[2]) };
}
