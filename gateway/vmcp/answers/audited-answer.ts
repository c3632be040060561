import type { AuditedRequest, Reply } from '../../audit/audited-request.ts';
import { capture } from '../../audit/capture.ts';
import { outcomeOfStatus, type Captured } from '../../audit/event.ts';
import { scanBackendEnvelope, type Envelope, type Span } from '../../http/json-scan.ts';
import { memberOf } from '../../http/json-walk.ts';
import type { Budget } from '../budgets/limits.ts';
import { CODE } from '../error-codes.ts';
import type { Answer, CallRefusal, WatchingCall } from './answer.ts';

const OK = 200;
const UNAVAILABLE = 503;

/** Answer that writes the audit event of its request when it has been given. */
export class AuditedAnswer implements Answer {
  readonly #answer: Answer;
  readonly #request: AuditedRequest;
  /** Bytes of the pieces of a long reply. */
  #bytes = 0;
  /** First pieces of a long reply, as far as they are written. */
  readonly #start: Buffer[] = [];
  #isWritten = false;

  constructor(answer: Answer, request: AuditedRequest) {
    this.#answer = answer;
    this.#request = request;
    request.awaitReply();
  }

  get id(): Buffer {
    return this.#answer.id;
  }

  get collects(): boolean {
    return this.#answer.collects;
  }

  get started(): boolean {
    return this.#answer.started;
  }

  result(result: Buffer | string): void {
    this.#answer.result(result);
    const text = typeof result === 'string' ? Buffer.from(result) : result;
    // lists have no `isError`, and can be long
    const isError = this.#request.isToolCall && isTrue(text, memberOf(text, { start: 0, end: text.length }, 'isError'));
    this.#write({
      outcome: this.#applicationOutcome(isError),
      status: OK,
      bytes: text.length,
      response: this.#captured(text),
    });
  }

  error(code: number, message: string, data?: unknown): void {
    this.#answer.error(code, message, data);
    const { hasResponses } = this.#request.log.settings;
    this.#write({
      outcome: code === CODE.denied ? 'denied' : this.#applicationOutcome(true),
      status: OK,
      errorCode: code,
      response: hasResponses ? this.#captured(Buffer.from(JSON.stringify({ code, message, data }))) : undefined,
    });
  }

  reply(message: Buffer): void {
    this.#answer.reply(message);
    const { readsResults, hasResponses } = this.#request.log.settings;
    if (!readsResults && !hasResponses) {
      this.#write({ outcome: 'success', status: OK, bytes: message.length });
      return;
    }
    const { result, error } = scanBackendEnvelope(message);
    const code = error && numberAt(message, memberOf(message, error, 'code'));
    const isError =
      error !== undefined || (this.#request.isToolCall && isTrue(message, memberOf(message, result, 'isError')));
    const body = result ?? error;
    this.#write({
      outcome: this.#applicationOutcome(isError),
      status: OK,
      bytes: message.length,
      errorCode: code,
      response: body && this.#captured(message.subarray(body.start, body.end)),
    });
  }

  part(piece: Buffer): boolean {
    if (this.#request.log.settings.hasResponses && this.#bytes < this.#request.log.settings.maxDataSize)
      this.#start.push(Buffer.from(piece));
    this.#bytes += piece.length;
    return this.#answer.part(piece);
  }

  end(): void {
    this.#answer.end();
    const { hasResponses, maxDataSize } = this.#request.log.settings;
    // the pieces are cut in any case: as a whole they are longer than any reply that is read at once
    const response = hasResponses
      ? capture(Buffer.concat(this.#start), Math.min(maxDataSize, this.#bytes - 1))
      : undefined;
    this.#write({ outcome: 'success', status: OK, bytes: this.#bytes, response });
  }

  message(message: Buffer, envelope: Envelope): void {
    this.#answer.message(message, envelope);
  }

  challenge(description: string, scopes?: readonly string[]): boolean {
    const isSent = this.#answer.challenge(description, scopes);
    const reason = scopes ? 'scope' : 'reauthenticate';
    if (isSent) this.#write({ outcome: 'denied', status: scopes ? 403 : 401, reason });
    return isSent;
  }

  refuse(refusal: CallRefusal): void {
    this.#answer.refuse(refusal);
    const { status, code, data } = refusal;
    const { reason } = data as { readonly reason?: unknown };
    this.#write({
      outcome: outcomeOfStatus(status),
      status,
      errorCode: code,
      reason: typeof reason === 'string' ? reason : undefined,
    });
  }

  unavailable(description: string): boolean {
    const isSent = this.#answer.unavailable(description);
    if (isSent) this.#write({ outcome: 'error', status: UNAVAILABLE, reason: 'store_unavailable' });
    return isSent;
  }

  busy(description: string, budget: Budget): boolean {
    const isSent = this.#answer.busy(description, budget);
    if (isSent) this.#write({ outcome: 'error', status: UNAVAILABLE, reason: budget });
    return isSent;
  }

  watchClient(call: WatchingCall): void {
    this.#answer.watchClient(call);
  }

  unwatchClient(): void {
    this.#answer.unwatchClient();
  }

  drop(): void {
    this.#answer.drop();
    this.#write({ outcome: 'failure', status: OK, reason: 'cancelled' });
  }

  cut(): void {
    this.#answer.cut();
    this.#write({ outcome: 'error', status: OK, bytes: this.#bytes, reason: 'broken_reply' });
  }

  onDrain(callback: () => void): void {
    this.#answer.onDrain(callback);
  }

  #applicationOutcome(isError: boolean): Reply['outcome'] {
    return isError && this.#request.log.settings.readsResults ? 'application_error' : 'success';
  }

  #captured(json: Buffer): Captured | undefined {
    const { hasResponses, maxDataSize } = this.#request.log.settings;
    return hasResponses ? capture(json, maxDataSize) : undefined;
  }

  #write(reply: Reply): void {
    if (this.#isWritten) return;
    this.#isWritten = true;
    this.#request.answered(reply);
  }
}

const isTrue = (text: Buffer, span: Span | undefined): boolean =>
  span !== undefined && text.toString('latin1', span.start, span.end) === 'true';

const numberAt = (text: Buffer, span: Span | undefined): number | undefined => {
  const number = span === undefined ? NaN : Number(text.toString('latin1', span.start, span.end));
  return Number.isSafeInteger(number) ? number : undefined;
};
