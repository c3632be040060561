import type { AuditedRequest, Reply } from '../../audit/audited-request.ts';
import { capture } from '../../audit/redact-json.ts';
import { CLIENT_LEFT_STATUS, type Captured } from '../../audit/event.ts';
import { scanBackendEnvelope, type Envelope } from '../../http/json-scan.ts';
import { CODE } from '../error-codes.ts';
import type { Answer, WatchingCall } from './answer.ts';
import { factsOf, type Ending } from './ending.ts';

const OK = 200;
/** Ends without a reply. */
const CANCELLED: Reply = { outcome: 'failure', status: CLIENT_LEFT_STATUS, reason: 'cancelled' };
const CLIENT_LEFT: Reply = { outcome: 'failure', status: CLIENT_LEFT_STATUS, reason: 'client_left' };

/** Answer that writes the audit event of its request when it has been given. */
export class AuditedAnswer implements Answer, WatchingCall {
  readonly #answer: Answer;
  readonly #request: AuditedRequest;
  #isWritten = false;
  /** Set while the client is watched. */
  #watching: WatchingCall | undefined;
  /** True when the client has left before it had the whole reply. */
  #hasLeft = false;

  constructor(answer: Answer, request: AuditedRequest) {
    this.#answer = answer;
    this.#request = request;
    request.awaitReply();
  }

  get id(): Buffer {
    return this.#answer.id;
  }

  get started(): boolean {
    return this.#answer.started;
  }

  result(result: Buffer | string, errorType?: string): void {
    this.#checkClient();
    this.#answer.result(result, errorType);
    const text = typeof result === 'string' ? Buffer.from(result) : result;
    this.#write({
      outcome: this.#applicationOutcome(errorType !== undefined),
      status: OK,
      bytes: text.length,
      response: this.#captured(text),
    });
  }

  error(code: number, message: string, data?: unknown): void {
    this.#checkClient();
    this.#answer.error(code, message, data);
    const { hasResponses } = this.#request.log.settings;
    this.#write({
      outcome: code === CODE.denied ? 'denied' : this.#applicationOutcome(true),
      status: OK,
      errorCode: code,
      response: hasResponses ? this.#captured(Buffer.from(JSON.stringify({ code, message, data }))) : undefined,
    });
  }

  reply(message: Buffer, errorType?: string): void {
    this.#checkClient();
    this.#answer.reply(message, errorType);
    this.#write({
      outcome: this.#applicationOutcome(errorType !== undefined),
      status: OK,
      bytes: message.length,
      errorCode: numberIn(errorType),
      response: this.#request.log.settings.hasResponses ? this.#captured(bodyOf(message)) : undefined,
    });
  }

  message(message: Buffer, envelope: Envelope): void {
    this.#answer.message(message, envelope);
  }

  end(ending: Ending): boolean {
    const isSent = this.#answer.end(ending);
    if (isSent) this.#write(factsOf(ending).audit);
    return isSent;
  }

  watchClient(call: WatchingCall): void {
    this.#watching = call;
    this.#answer.watchClient(this);
  }

  unwatchClient(): void {
    this.#watching = undefined;
    this.#answer.unwatchClient();
  }

  clientLeft(): void {
    this.#hasLeft = true;
    this.#watching?.clientLeft();
  }

  drop(): void {
    this.#answer.drop();
    this.#write(CANCELLED);
  }

  #applicationOutcome(isError: boolean): Reply['outcome'] {
    return isError && this.#request.log.settings.readsResults ? 'application_error' : 'success';
  }

  #captured(json: Buffer): Captured | undefined {
    const { hasResponses, maxDataSize } = this.#request.log.settings;
    return hasResponses ? capture(json, maxDataSize) : undefined;
  }

  /** Called before a reply is given to a client that may have left. */
  #checkClient(): void {
    if (this.#answer.isLost === true) this.#hasLeft = true;
  }

  #write(reply: Reply): void {
    if (this.#isWritten) return;
    this.#isWritten = true;
    this.#request.answered(this.#hasLeft && reply.outcome !== 'denied' ? CLIENT_LEFT : reply);
  }
}

/** Returns the JSON text of the result or the error in a reply. */
function bodyOf(message: Buffer): Buffer {
  const { result, error } = scanBackendEnvelope(message);
  const body = result ?? error;
  return body ? message.subarray(body.start, body.end) : message;
}

/** Returns the JSON-RPC code that is an `error.type`; undefined for another one. */
function numberIn(errorType: string | undefined): number | undefined {
  const code = Number(errorType);
  return Number.isSafeInteger(code) ? code : undefined;
}
