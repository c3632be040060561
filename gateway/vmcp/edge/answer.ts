import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Identity } from '../../contract/identity.ts';
import type { Envelope } from '../../http/json-scan.ts';
import type { Session } from '../session.ts';
import type { ReplySink } from '../transport/channel.ts';
import { RETRY_AFTER_SECONDS as BUSY_RETRY_AFTER_SECONDS, UNCOUNTED_BYTES, type Budget } from '../budgets/limits.ts';
import { CODE } from '../error-codes.ts';
import { errorMessage, resultMessage, resultPieces } from '../message.ts';
import { overBudget, refuse } from './refuse.ts';
import { awaitReply, forgetReply, type AwaitedReply } from './awaited-replies.ts';
import { onceDrained, type EventStream } from './event-stream.ts';
import type { WatchingCall } from './watching-call.ts';

/** Where the reply to one client request goes, whatever the client's transport is. */
export interface Answer extends Omit<ReplySink, 'fail'> {
  /** JSON text of the client's id. */
  readonly id: Buffer;
  /** `result` is JSON text. */
  result(result: Buffer | string): void;
  error(code: number, message: string, data?: unknown): void;
  /**
   * Answers 401: the client must log in again. With `scopes` 403: it must log in with more scopes. Returns false when it is
   * too late for a status.
   */
  challenge(description: string, scopes?: readonly string[]): boolean;
  /** Answers a status of 4xx and a JSON-RPC error. When it is too late for a status, the error alone. */
  refuse(refusal: CallRefusal): void;
  /** Answers 503. False when it is too late for a status. */
  unavailable(description: string): boolean;
  /** Answers 503 because a budget is used up. False when it is too late for a status. */
  busy(description: string, budget: Budget): boolean;
  /** Pieces of a long reply are kept until its end. */
  readonly collects: boolean;
  /** Tells `call` when the client has left and cannot get the reply any more, until `unwatchClient`. */
  watchClient(call: WatchingCall): void;
  unwatchClient(): void;
  /** Nobody waits for a reply any more: the exchange ends without one. */
  drop(): void;
  /** The reply broke off after a part of it was sent: the client's stream is cut. */
  cut(): void;
  /** False as long as nothing was sent. */
  readonly started: boolean;
  /** Calls back once when what was sent has drained. */
  onDrain(callback: () => void): void;
}

/** A rejected call, as HTTP and as JSON-RPC state it. */
export interface CallRefusal {
  readonly status: 403 | 429;
  readonly code: number;
  readonly message: string;
  readonly data: object;
  readonly retryAfterSeconds?: number | undefined;
}

/** Answers 401 with a challenge, or 403 with one that names scopes. */
type OnChallenge = (res: ServerResponse, description: string, scopes?: readonly string[]) => void;

export const RETRY_AFTER_SECONDS = 5;

const JSON_TYPE = 'application/json';

/** From this revision on a client understands an event without data, sent so that it can come back at once. */
const PRIMED_SINCE = '2025-11-25';

/** The reply to a POST: JSON, or an event stream as soon as a message comes before the reply. */
export class PostAnswer implements Answer, AwaitedReply {
  readonly id: Buffer;
  readonly #res: ServerResponse;
  readonly #session: Session | undefined;
  readonly #caller: Identity | undefined;
  readonly #onChallenge: OnChallenge;
  readonly collects = false;
  #stream: EventStream | undefined;
  #inPart = false;
  /** Both are set while the client is watched. */
  #watching: WatchingCall | undefined;
  #socket: Socket | undefined;

  /** `session` is undefined for `initialize`, which is never answered by a stream. */
  constructor(res: ServerResponse, id: Buffer, session: Session | undefined, onChallenge: OnChallenge) {
    this.#onChallenge = onChallenge;
    this.#res = res;
    this.#session = session;
    this.#caller = session?.identity;
    this.id = id;
  }

  get started(): boolean {
    return this.#res.headersSent;
  }

  result(result: Buffer | string): void {
    if (this.#stream) {
      this.reply(resultMessage(this.id, result));
      return;
    }
    const [head, body, close] = resultPieces(this.id, result);
    const res = this.#res;
    res.writeHead(200, { 'content-type': JSON_TYPE, 'content-length': head.length + body.length + 1 });
    res.write(head);
    res.write(body);
    res.end(close);
  }

  error(code: number, message: string, data?: unknown): void {
    this.reply(errorMessage(this.id, code, message, data));
  }

  reply(message: Buffer): void {
    if (this.#stream) {
      this.#stream.send(message);
      this.#stream.end();
      return;
    }
    const res = this.#res;
    const unread = message.length > UNCOUNTED_BYTES ? this.#session?.account.reply() : undefined;
    if (unread?.resize(message.length) === false) {
      this.#session?.account.refused('unread_bytes');
      this.busy('the replies that clients have not read yet fill the memory of the gateway: try again', 'unread_bytes');
      return;
    }
    if (unread) {
      res.once('close', () => {
        unread.release();
      });
    }
    res.writeHead(200, { 'content-type': JSON_TYPE, 'content-length': message.length });
    res.end(message);
  }

  challenge(description: string, scopes?: readonly string[]): boolean {
    if (this.#res.headersSent) {
      if (this.#session && !scopes) this.#session.owedChallenge = description;
      return false;
    }
    this.#onChallenge(this.#res, description, scopes);
    return true;
  }

  refuse({ status, code, message, data, retryAfterSeconds }: CallRefusal): void {
    if (this.#stream) {
      this.error(code, message, data);
      return;
    }
    const body = errorMessage(this.id, code, message, data);
    if (retryAfterSeconds !== undefined) this.#res.setHeader('retry-after', String(retryAfterSeconds));
    this.#res.writeHead(status, { 'content-type': JSON_TYPE, 'content-length': body.length });
    this.#res.end(body);
  }

  unavailable(description: string): boolean {
    if (this.#res.headersSent) return false;
    this.#res.setHeader('retry-after', String(RETRY_AFTER_SECONDS));
    refuse(this.#res, 503, CODE.internal, description);
    return true;
  }

  busy(description: string, budget: Budget): boolean {
    if (this.#res.headersSent) return false;
    this.#res.setHeader('retry-after', String(BUSY_RETRY_AFTER_SECONDS));
    refuse(this.#res, 503, CODE.internal, description, overBudget(budget));
    return true;
  }

  /** A client whose reply is a stream may come back with `Last-Event-ID`; one that waits for JSON cannot. */
  watchClient(call: WatchingCall): void {
    const { socket, destroyed } = this.#res;
    if (!socket || destroyed) {
      call.clientLeft();
      return;
    }
    this.#watching = call;
    this.#socket = socket;
    awaitReply(socket, this);
  }

  unwatchClient(): void {
    if (this.#socket) forgetReply(this.#socket, this);
    this.#socket = this.#watching = undefined;
  }

  connectionClosed(): void {
    if (!this.#stream) this.#watching?.clientLeft();
  }

  /** A stream may end before the reply, and its connection with it or not. */
  #streamClosed(): void {
    const call = this.#watching;
    if (!call) return;
    if (!this.#inPart) this.#stream?.onAbandoned(call);
    else if (!this.#res.writableFinished) call.clientLeft();
  }

  part(piece: Buffer): boolean {
    const res = this.#res;
    if (this.#stream) {
      const first = !this.#inPart;
      this.#inPart = true;
      return this.#stream.sendPart(piece, first);
    }
    if (!res.headersSent) res.writeHead(200, { 'content-type': JSON_TYPE });
    return res.write(piece) || res.destroyed;
  }

  end(): void {
    if (this.#stream) this.#stream.endPart();
    else this.#res.end();
  }

  message(message: Buffer, _envelope: Envelope): void {
    if (!this.#session) return;
    if (!this.#stream) {
      this.#stream = this.#session.streams.open();
      this.#stream.attach(this.#res, undefined, this.#caller);
      this.#res.on('close', () => {
        this.#streamClosed();
      });
      if (this.#session.revision >= PRIMED_SINCE) this.#stream.prime();
    }
    this.#stream.send(message);
  }

  drop(): void {
    if (this.#stream) this.#stream.end();
    else {
      if (!this.#res.headersSent) this.#res.writeHead(202, { 'content-length': 0 });
      this.#res.end();
    }
  }

  cut(): void {
    if (this.#stream) this.#stream.cut();
    else this.#res.destroy();
  }

  onDrain(callback: () => void): void {
    if (this.#stream) this.#stream.onDrain(callback);
    else onceDrained(this.#res, callback);
  }
}
