import { methodOf } from '../../../contract/protocol/methods.ts';
import { scanBackendEnvelope, type Envelope } from '../../../http/json-scan.ts';
import { memberOf, type Span } from '../../../http/json-walk.ts';
import type { Answer, WatchingCall } from '../../answers/answer.ts';
import type { Ending } from '../../answers/ending.ts';
import { CODE } from '../../error-codes.ts';
import { passesLogLevel } from '../../log-level.ts';
import { errorMessage, resultMessage } from '../../message.ts';
import { namesOf } from '../../server-requests.ts';
import type { Session } from '../../session.ts';
import type { PostAnswer } from '../post-answer.ts';
import { privateReply, type CacheHint } from '../../aggregation/cache-hint.ts';
import { withoutUrlError } from './questions/older-error.ts';
import type { Stamp } from './stamp.ts';

/** HTTP status by JSON-RPC code; 200 for others. @see MCP 2026-07-28, basic/transports */
const STATUS: Readonly<Record<number, 400 | 404>> = {
  [CODE.parse]: 400,
  [CODE.invalidRequest]: 400,
  [CODE.methodNotFound]: 404,
  [CODE.invalidParams]: 400,
  [CODE.headerMismatch]: 400,
  [CODE.missingCapability]: 400,
  [CODE.unsupportedVersion]: 400,
};

/** Beginning of the codes of errors that are not passed on as they are. */
const OWN_RANGE = Buffer.from('-320');

/** Parts of results that do not come from backends. */
export interface ResultParts {
  readonly stamp: Stamp;
  /** Returns the hint for the result of a list. */
  readonly hintOf: (method: string, session: Session) => CacheHint;
  /** Returns true for a client that sees what all clients see: shared caches may keep it. */
  readonly isAnyone: (session: Session) => boolean;
}

/**
 * Answer to a request without a session. A result gets what the revision demands, an error its HTTP status. Its stream
 * cannot be resumed, so a client that disconnects cancels the call.
 */
export class ModernAnswer implements Answer {
  readonly id: Buffer;
  readonly #out: PostAnswer;
  readonly #method: string;
  readonly #session: Session;
  readonly #logLevel: number;
  readonly #resultParts: ResultParts;

  /** `logLevel` is an index of `LOG_LEVELS`: messages below it are not sent; -1: none is sent. */
  constructor(out: PostAnswer, method: string, session: Session, logLevel: number, resultParts: ResultParts) {
    this.id = out.id;
    this.#out = out;
    this.#method = method;
    this.#session = session;
    this.#logLevel = logLevel;
    this.#resultParts = resultParts;
  }

  get started(): boolean {
    return this.#out.started;
  }

  get isLost(): boolean {
    return this.#out.isLost;
  }

  result(result: Buffer | string): void {
    const { stamp, hintOf } = this.#resultParts;
    const hint = hintOf(this.#method, this.#session);
    const text = typeof result === 'string' ? Buffer.from(result) : result;
    const stamped = stamp.result(text, this.#method, hint);
    this.#out.reply(resultMessage(this.id, stamped === text ? stamp.named(text) : stamped));
  }

  error(code: number, message: string, data?: unknown): void {
    const shown = code === CODE.resourceNotFound ? CODE.invalidParams : code;
    const status = STATUS[shown];
    if (status === undefined || this.#out.started) this.#out.error(shown, message, data);
    else this.#out.send(status, errorMessage(this.id, shown, message, data));
  }

  reply(given: Buffer): void {
    const { isAnyone } = this.#resultParts;
    const message = methodOf(this.#method).hint === 'read' && !isAnyone(this.#session) ? privateReply(given) : given;
    const stamped = this.#resultParts.stamp.reply(message, this.id, this.#method);
    if (typeof stamped === 'string') this.#out.replyText(stamped);
    else if (stamped !== message || !message.includes(OWN_RANGE) || !this.#replyError(message))
      this.#out.reply(stamped);
  }

  /** Answers an error of a backend whose code means something else here. Returns false for another reply. */
  #replyError(message: Buffer): boolean {
    const { error } = scanBackendEnvelope(message);
    const span = memberOf(message, error, 'code');
    switch (error && span && Number(message.toString('latin1', span.start, span.end))) {
      case CODE.missingCapability:
      case CODE.headerMismatch:
        if (this.started) return false;
        this.#out.send(400, message);
        return true;
      case CODE.unsupportedVersion: // of the backend: the gateway supports it
        this.error(CODE.internal, 'the backend does not support the revision of the request any more');
        return true;
      case CODE.urlRequired:
        if (error) this.#askForUrls(message, error);
        return true;
      default:
        return false;
    }
  }

  #askForUrls(message: Buffer, error: Span): void {
    const found = withoutUrlError(message, error, this.#method, this.#session);
    if (found.kind === 'result') this.result(found.text);
    else if (found.kind === 'error') this.error(CODE.internal, found.message, found.data);
    else {
      const text = `the backend needs the client capability "${namesOf(found.capabilities)}"`;
      this.error(CODE.missingCapability, text, { requiredCapabilities: found.capabilities });
    }
  }

  /** Sends progress and log messages. The revision has no requests of the server, and does not announce the end of a question. */
  message(message: Buffer, envelope: Envelope): void {
    if (envelope.id !== undefined || envelope.method === 'notifications/elicitation/complete') return;
    if (envelope.method === 'notifications/message') {
      if (this.#logLevel === -1 || !passesLogLevel(this.#logLevel, message, envelope)) return;
    }
    this.#out.message(message, envelope);
  }

  end(ending: Ending): boolean {
    return this.#out.end(ending);
  }

  drop(): void {
    this.#out.drop();
  }

  watchClient(call: WatchingCall): void {
    this.#out.watchClient(call);
  }

  unwatchClient(): void {
    this.#out.unwatchClient();
  }
}
