import type { ServerResponse } from 'node:http';
import type { Identity } from '../../contract/identity.ts';
import type { Envelope } from '../../http/json-scan.ts';
import type { Session } from '../session.ts';
import type { ReplySink } from '../transport/channel.ts';
import { CODE } from '../error-codes.ts';
import { errorMessage, resultMessage, resultPieces } from '../message.ts';
import { refuse } from './refuse.ts';
import { onceDrained, type EventStream } from './event-stream.ts';

/** Where the reply to one client request goes, whatever the client's transport is. */
export interface Answer extends Omit<ReplySink, 'fail'> {
  /** JSON text of the client's id. */
  readonly id: Buffer;
  /** `result` is JSON text. */
  result(result: Buffer | string): void;
  error(code: number, message: string, data?: unknown): void;
  /** Answers 401: the caller must log in again. False when it is too late for a status. */
  challenge(description: string): boolean;
  /** Answers 503. False when it is too late for a status. */
  unavailable(description: string): boolean;
  /** Nobody waits for a reply any more: the exchange ends without one. */
  drop(): void;
  /** The reply broke off after a part of it was sent: the client's stream is cut. */
  cut(): void;
  /** False as long as nothing was sent. */
  readonly started: boolean;
  /** Calls back once when what was sent has drained. */
  onDrain(callback: () => void): void;
}

/** Answers 401 with a challenge. */
type OnChallenge = (res: ServerResponse, description: string) => void;

export const RETRY_AFTER_SECONDS = 5;

const JSON_TYPE = 'application/json';

/** From this revision on a client understands an event without data, sent so that it can come back at once. */
const PRIMED_SINCE = '2025-11-25';

/** The reply to a POST: JSON, or an event stream as soon as a message comes before the reply. */
export class PostAnswer implements Answer {
  readonly id: Buffer;
  readonly #res: ServerResponse;
  readonly #session: Session | undefined;
  readonly #caller: Identity | undefined;
  readonly #onChallenge: OnChallenge;
  #stream: EventStream | undefined;
  #inPart = false;

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
    this.#res.writeHead(200, { 'content-type': JSON_TYPE, 'content-length': message.length });
    this.#res.end(message);
  }

  challenge(description: string): boolean {
    if (this.#res.headersSent) {
      if (this.#session) this.#session.owedChallenge = description;
      return false;
    }
    this.#onChallenge(this.#res, description);
    return true;
  }

  unavailable(description: string): boolean {
    if (this.#res.headersSent) return false;
    this.#res.setHeader('retry-after', String(RETRY_AFTER_SECONDS));
    refuse(this.#res, 503, CODE.internal, description);
    return true;
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
