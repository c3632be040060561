import { scanBackendEnvelope, type Envelope } from '../../../http/json-scan.ts';
import { memberOf } from '../../../http/json-walk.ts';
import {
  overBudget,
  STORE_RETRY_AFTER_SECONDS,
  type Answer,
  type CallRefusal,
  type WatchingCall,
} from '../../answers/answer.ts';
import { RETRY_AFTER_SECONDS, type Budget } from '../../budgets/limits.ts';
import { CODE } from '../../error-codes.ts';
import { passesLogLevel } from '../../log-level.ts';
import { errorMessage, resultMessage } from '../../message.ts';
import type { PostAnswer } from '../post-answer.ts';
import type { CacheHint } from '../../aggregation/cache-hint.ts';
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

const MISSING_CAPABILITY = Buffer.from(String(CODE.missingCapability));

/** Returns true for a backend's error that the status must show, too. */
function isMissingCapability(message: Buffer): boolean {
  const code = memberOf(message, scanBackendEnvelope(message).error, 'code');
  return code !== undefined && message.toString('latin1', code.start, code.end) === String(CODE.missingCapability);
}

export interface ModernAnswerOptions {
  readonly method: string;
  readonly stamp: Stamp;
  /** Index of `LOG_LEVELS`: messages below it are not sent; -1: none is sent. */
  readonly logLevel: number;
  /** Returns the hint for the result of a list. */
  readonly cacheHint: () => CacheHint;
}

/**
 * Answer to a request without a session. A result gets what the revision demands, an error its HTTP status. Its stream
 * cannot be resumed, so a client that disconnects cancels the call.
 */
export class ModernAnswer implements Answer {
  readonly id: Buffer;
  readonly collects = true;
  readonly #out: PostAnswer;
  readonly #options: ModernAnswerOptions;
  #parts: Buffer[] = [];

  constructor(out: PostAnswer, options: ModernAnswerOptions) {
    this.id = out.id;
    this.#out = out;
    this.#options = options;
  }

  get started(): boolean {
    return this.#out.started;
  }

  result(result: Buffer | string): void {
    const { stamp, method, cacheHint } = this.#options;
    const text = typeof result === 'string' ? Buffer.from(result) : result;
    this.#out.reply(resultMessage(this.id, stamp.result(text, method, cacheHint())));
  }

  error(code: number, message: string, data?: unknown): void {
    const shown = code === CODE.resourceNotFound ? CODE.invalidParams : code;
    const status = STATUS[shown];
    if (status === undefined || this.#out.started) this.#out.error(shown, message, data);
    else this.#out.send(status, errorMessage(this.id, shown, message, data));
  }

  reply(message: Buffer): void {
    const { stamp, method } = this.#options;
    const stamped = stamp.reply(message, this.id, method);
    if (!this.started && stamped.includes(MISSING_CAPABILITY) && isMissingCapability(stamped))
      this.#out.send(400, stamped);
    else this.#out.reply(stamped);
  }

  part(piece: Buffer): boolean {
    this.#parts.push(piece);
    return true;
  }

  end(): void {
    const reply = Buffer.concat(this.#parts);
    this.#parts = [];
    this.reply(reply);
  }

  /** Sends progress and log messages. The revision has no requests of the server. */
  message(message: Buffer, envelope: Envelope): void {
    const { logLevel } = this.#options;
    if (envelope.id !== undefined) return;
    if (envelope.method === 'notifications/message') {
      if (logLevel === -1 || !passesLogLevel(logLevel, message, envelope)) return;
    }
    this.#out.message(message, envelope);
  }

  challenge(description: string, scopes?: readonly string[]): boolean {
    return this.#out.challenge(description, scopes);
  }

  refuse(refusal: CallRefusal): void {
    this.#out.refuse(refusal);
  }

  unavailable(message: string): boolean {
    if (this.started) return false;
    this.refuse({ status: 503, code: CODE.internal, message, data: {}, retryAfterSeconds: STORE_RETRY_AFTER_SECONDS });
    return true;
  }

  busy(message: string, budget: Budget): boolean {
    if (this.started) return false;
    const data = overBudget(budget);
    this.refuse({ status: 503, code: CODE.internal, message, data, retryAfterSeconds: RETRY_AFTER_SECONDS });
    return true;
  }

  drop(): void {
    this.#parts = [];
    this.#out.drop();
  }

  cut(): void {
    this.#parts = [];
    this.#out.cut();
  }

  watchClient(call: WatchingCall): void {
    this.#out.watchClient(call);
  }

  unwatchClient(): void {
    this.#out.unwatchClient();
  }

  onDrain(callback: () => void): void {
    this.#out.onDrain(callback);
  }
}
