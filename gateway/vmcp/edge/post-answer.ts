import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Identity } from '../../contract/identity.ts';
import type { Envelope } from '../../http/json-scan.ts';
import { SHORT, shortText } from '../../http/short-text.ts';
import type { Session } from '../session.ts';
import type { Answer, WatchingCall } from '../answers/answer.ts';
import { factsOf, type Ending } from '../answers/ending.ts';
import { UNCOUNTED_OUTPUT_BYTES } from '../budgets/limits.ts';
import { isSessionless, revisionOf } from '../../contract/protocol/revisions.ts';
import { CODE } from '../error-codes.ts';
import { errorMessage, resultMessage, resultPieces } from '../message.ts';
import type { EventStream } from './event-stream.ts';

/** Answers 401 with a challenge, or 403 with one that names scopes. */
type OnChallenge = (res: ServerResponse, description: string, scopes?: readonly string[]) => void;

/** Returns the headers of a JSON message, in a form that Node.js does not have to convert. */
const headOf = (length: number): string[] => ['content-type', 'application/json', 'content-length', String(length)];

/** Status of a refusal in a session: clients such as the Python SDK 1.x end the whole session at any other status. */
const OK = 200;

const ABANDONED = 'the client did not resume the stream in time, so the call was cancelled: send the request again';

/** Answer to a POST: JSON, or an event stream as soon as a message precedes the reply. */
export class PostAnswer implements Answer, AwaitedReply {
  readonly id: Buffer;
  readonly #res: ServerResponse;
  readonly #session: Session | undefined;
  readonly #identity: Identity | undefined;
  readonly #onChallenge: OnChallenge;
  #stream: EventStream | undefined;
  /** Set together while the client is watched. */
  #watching: WatchingCall | undefined;
  #socket: Socket | undefined;

  /** `session` is undefined for `initialize`, which is never answered with a stream. */
  constructor(res: ServerResponse, id: Buffer, session: Session | undefined, onChallenge: OnChallenge) {
    this.#onChallenge = onChallenge;
    this.#res = res;
    this.#session = session;
    this.#identity = session?.identity;
    this.id = id;
  }

  get started(): boolean {
    return this.#res.headersSent;
  }

  get isLost(): boolean {
    return this.#res.destroyed && !this.#res.headersSent;
  }

  result(result: Buffer | string): void {
    if (this.#stream || result.length <= SHORT) {
      this.reply(resultMessage(this.id, result));
      return;
    }
    const [head, body, close] = resultPieces(this.id, result);
    const res = this.#res;
    res.writeHead(200, headOf(head.length + body.length + 1));
    res.write(head);
    res.write(body);
    res.end(close);
  }

  error(code: number, message: string, data?: unknown): void {
    this.reply(errorMessage(this.id, code, message, data));
  }

  reply(message: Buffer): void {
    if (this.#stream) {
      this.#stream.reply(message);
      return;
    }
    const res = this.#res;
    const unread = message.length > UNCOUNTED_OUTPUT_BYTES ? this.#session?.account.reply() : undefined;
    if (unread?.resize(message.length) === false) {
      this.#session?.account.refused('unread_bytes');
      const message = 'too many replies wait to be read by clients: try again';
      this.end({ kind: 'overloaded', message, budget: 'unread_bytes' });
      return;
    }
    if (unread) {
      res.once('close', () => {
        unread.release();
      });
    }
    const text = shortText(message);
    if (text !== undefined) this.replyText(text);
    else {
      res.writeHead(200, headOf(message.length));
      res.end(message);
    }
  }

  /** Sends a short message, each byte as one character. */
  replyText(message: string): void {
    if (this.#stream) {
      this.reply(Buffer.from(message, 'latin1'));
      return;
    }
    this.#res.writeHead(200, headOf(message.length));
    this.#res.end(message, 'latin1');
  }

  end(ending: Ending): boolean {
    if (ending.kind === 'challenged') return this.#challenge(ending.message, ending.scopes);
    if (ending.kind !== 'refused' && this.#res.headersSent) return false;
    const { status, code, data, retryAfterSeconds } = factsOf(ending);
    if (this.#stream) {
      this.error(code, ending.message, data);
      return true;
    }
    if (retryAfterSeconds !== undefined) this.#res.setHeader('retry-after', String(retryAfterSeconds));
    const isInSession = this.#session !== undefined && !isSessionless(this.#session.revision);
    this.send(isInSession ? OK : status, errorMessage(this.id, code, ending.message, data));
    return true;
  }

  #challenge(description: string, scopes: readonly string[] | undefined): boolean {
    if (this.#res.headersSent) {
      if (this.#session && !scopes) this.#session.pendingChallenge = description;
      return false;
    }
    this.#onChallenge(this.#res, description, scopes);
    return true;
  }

  /** Sends a whole JSON-RPC message with an HTTP status. Nothing may have been sent before. */
  send(status: number, message: Buffer): void {
    this.#res.writeHead(status, headOf(message.length));
    this.#res.end(message);
  }

  /**
   * Watches the connection. A client whose reply is a stream may resume with `Last-Event-ID`; a client that waits for
   * JSON cannot.
   */
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

  /** Handles the end of the response, which may come before the reply and leave the connection open. */
  #streamClosed(): void {
    const call = this.#watching;
    if (call) this.#stream?.onAbandoned(call);
  }

  message(message: Buffer, _envelope: Envelope): void {
    if (!this.#session) return;
    if (!this.#stream) {
      const { streams } = this.#session;
      const revision = revisionOf(this.#session.revision);
      this.#stream = revision.isSessionless ? streams.openUnkept() : streams.open(this.id.toString());
      this.#stream.attach(this.#res, undefined, this.#identity);
      this.#res.on('close', () => {
        this.#streamClosed();
      });
      if (revision.primesStreams) this.#stream.prime();
    }
    this.#stream.send(message);
  }

  drop(): void {
    if (this.#stream?.isAbandoned === true) this.error(CODE.internal, ABANDONED);
    else if (this.#stream) this.#stream.end();
    else {
      if (!this.#res.headersSent) this.#res.writeHead(202, { 'content-length': 0 });
      this.#res.end();
    }
  }
}

/** A reply that is still to be sent on a connection. */
interface AwaitedReply {
  connectionClosed(): void;
}

/** Replies that are still to be sent on a connection: a single reply, unless its client pipelines requests. */
interface AwaitedReplies {
  first: AwaitedReply | undefined;
  others: Set<AwaitedReply> | undefined;
}

const AWAITED = Symbol('awaited replies');

type AwaitingSocket = Socket & { [AWAITED]?: AwaitedReplies };

/**
 * Calls `reply.connectionClosed` when the connection closes before `forgetReply`. A connection keeps its listener: a listener for each
 * call would add a fifth to the allocations of the call.
 */
function awaitReply(socket: AwaitingSocket, reply: AwaitedReply): void {
  const awaited = socket[AWAITED];
  if (!awaited) {
    const all: AwaitedReplies = (socket[AWAITED] = { first: reply, others: undefined });
    socket.once('close', () => {
      closeAll(all);
    });
  } else if (!awaited.first) awaited.first = reply;
  else (awaited.others ??= new Set()).add(reply);
}

function closeAll(awaited: AwaitedReplies): void {
  const { first, others } = awaited;
  awaited.first = awaited.others = undefined;
  first?.connectionClosed();
  for (const each of others ?? []) each.connectionClosed();
}

function forgetReply(socket: AwaitingSocket, reply: AwaitedReply): void {
  const awaited = socket[AWAITED];
  if (awaited?.first === reply) awaited.first = undefined;
  else awaited?.others?.delete(reply);
}
