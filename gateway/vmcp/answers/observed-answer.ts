import type { Envelope } from '../../http/json-scan.ts';
import type { AnsweredRequest, CallObserver } from '../../telemetry/call-observer.ts';
import { methodOf } from '../../contract/protocol/methods.ts';
import type { RequestTrace } from '../../telemetry/tracing.ts';
import type { CallCount } from '../budgets/calls-in-progress.ts';
import type { Answer, WatchingCall } from './answer.ts';
import { factsOf, type Ending } from './ending.ts';

/** Reports the time until the answer, and how the request failed. */
export class ObservedAnswer implements Answer, AnsweredRequest {
  readonly method: string;
  readonly revision: string | undefined;
  readonly trace: RequestTrace | undefined;
  target: string | undefined;
  errorType: string | undefined;
  durationMs = 0;
  readonly #answer: Answer;
  readonly #observer: CallObserver;
  readonly #now: () => number;
  readonly #startedAt: number;
  #isAnswered = false;
  #count: CallCount | undefined;

  constructor(
    answer: Answer,
    method: string,
    revision: string | undefined,
    { observer, now }: { readonly observer: CallObserver; readonly now: () => number },
    trace?: RequestTrace,
  ) {
    this.#answer = answer;
    this.method = method;
    this.revision = revision;
    this.#observer = observer;
    this.#now = now;
    this.#startedAt = now();
    this.trace = trace;
  }

  /** Leaves `count` when the request is answered. */
  occupy(count: CallCount): void {
    this.#count = count;
  }

  /** Leaves the count of `occupy`, for a request that the caller answers otherwise. */
  vacate(): void {
    this.#count?.leave();
    this.#count = undefined;
  }

  get id(): Buffer {
    return this.#answer.id;
  }

  get started(): boolean {
    return this.#answer.started;
  }

  routed(name: string): void {
    if (methodOf(this.method).target) this.target = name;
    this.trace?.routed(name);
  }

  result(result: Buffer | string, errorType?: string): void {
    this.#answer.result(result, errorType);
    this.#answered(errorType);
  }

  error(code: number, message: string, data?: unknown): void {
    this.#answer.error(code, message, data);
    this.#answered(String(code), message);
  }

  reply(message: Buffer, errorType?: string): void {
    this.#answer.reply(message, errorType);
    this.#answered(errorType);
  }

  end(ending: Ending): boolean {
    const isSent = this.#answer.end(ending);
    if (isSent) this.#answered(factsOf(ending).errorType, ending.message);
    return isSent;
  }

  message(message: Buffer, envelope: Envelope): void {
    this.#answer.message(message, envelope);
  }

  drop(): void {
    this.#answer.drop();
    this.#answered('cancelled');
  }

  watchClient(call: WatchingCall): void {
    this.#answer.watchClient(call);
  }

  unwatchClient(): void {
    this.#answer.unwatchClient();
  }

  #answered(errorType: string | undefined, message?: string): void {
    if (this.#isAnswered) return;
    this.#isAnswered = true;
    this.vacate();
    this.errorType = errorType;
    this.durationMs = this.#now() - this.#startedAt;
    this.#observer.answered?.(this);
    this.trace?.answered(errorType, message);
  }
}
