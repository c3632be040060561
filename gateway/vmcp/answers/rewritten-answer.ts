import type { Envelope } from '../../http/json-scan.ts';
import type { RequestTrace } from '../../telemetry/tracing.ts';
import type { Capabilities } from '../server-requests.ts';
import type { Answer, WatchingCall } from './answer.ts';
import type { Ending } from './ending.ts';

/** Answer that changes the reply of a backend on its way to the client, or what the backend sends before it. */
export class RewrittenAnswer implements Answer {
  readonly #answer: Answer;
  readonly #rewrite: (message: Buffer) => Buffer;
  readonly #relay: Answer['message'];

  /** `relay` sends the messages before the reply. */
  constructor(
    answer: Answer,
    rewrite: (message: Buffer) => Buffer,
    relay: Answer['message'] = (message, envelope) => {
      answer.message(message, envelope);
    },
  ) {
    this.#answer = answer;
    this.#rewrite = rewrite;
    this.#relay = relay;
  }

  get id(): Buffer {
    return this.#answer.id;
  }

  get trace(): RequestTrace | undefined {
    return this.#answer.trace;
  }

  get started(): boolean {
    return this.#answer.started;
  }

  reply(message: Buffer, errorType?: string): void {
    this.#answer.reply(this.#rewrite(message), errorType);
  }

  drop(): void {
    this.#answer.drop();
  }

  routed(name: string, backend: string): void {
    this.#answer.routed?.(name, backend);
  }

  result(result: Buffer | string, errorType?: string): void {
    this.#answer.result(result, errorType);
  }

  error(code: number, message: string, data?: unknown): void {
    this.#answer.error(code, message, data);
  }

  message(message: Buffer, envelope: Envelope): void {
    this.#relay(message, envelope);
  }

  end(ending: Ending): boolean {
    return this.#answer.end(ending);
  }

  lacks(missing: Capabilities): void {
    this.#answer.lacks?.(missing);
  }

  watchClient(call: WatchingCall): void {
    this.#answer.watchClient(call);
  }

  unwatchClient(): void {
    this.#answer.unwatchClient();
  }
}
