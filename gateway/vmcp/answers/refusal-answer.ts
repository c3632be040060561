import type { Answer } from './answer.ts';
import type { Ending } from './ending.ts';
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

  override end(ending: Ending): boolean {
    this.#onRefused();
    return super.end(ending);
  }

  override drop(): void {
    this.#onRefused();
    super.drop();
  }
}
