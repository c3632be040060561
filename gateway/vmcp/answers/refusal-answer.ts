import type { Budget } from '../budgets/limits.ts';
import type { Answer, CallRefusal } from './answer.ts';
import { RewrittenAnswer } from './rewritten-answer.ts';

/** Answer to a request that the gateway may only refuse. `onRefused` is called before the client learns of it, or leaves. */
export class RefusalAnswer extends RewrittenAnswer {
  readonly #onRefused: () => void;

  constructor(answer: Answer, onRefused: () => void) {
    super(answer, (message) => message);
    this.#onRefused = onRefused;
  }

  override result(result: Buffer | string, errorType?: string): void {
    this.#onRefused();
    super.result(result, errorType);
  }

  override error(code: number, message: string, data?: unknown): void {
    this.#onRefused();
    super.error(code, message, data);
  }

  override refuse(refusal: CallRefusal): void {
    this.#onRefused();
    super.refuse(refusal);
  }

  override challenge(description: string, scopes?: readonly string[]): boolean {
    this.#onRefused();
    return super.challenge(description, scopes);
  }

  override unavailable(description: string): boolean {
    this.#onRefused();
    return super.unavailable(description);
  }

  override busy(description: string, budget: Budget): boolean {
    this.#onRefused();
    return super.busy(description, budget);
  }

  override drop(): void {
    this.#onRefused();
    super.drop();
  }
}
