import type { Answer } from '../answers/answer.ts';
import type { Ending } from '../answers/ending.ts';
import { errorMessage, resultMessage } from '../message.ts';
import { remoteConnectionOf, type RemoteConnection, type Session } from '../session.ts';

/**
 * Answer on the only stream of a session of 2024-11-05, which another replica may have. A long reply is collected first,
 * so that no message interrupts it.
 */
export class StreamAnswer implements Answer {
  readonly id: Buffer;
  started = false;
  readonly #session: Session;
  readonly #elsewhere: RemoteConnection | undefined;

  constructor(session: Session, id: Buffer) {
    this.#session = session;
    this.id = Buffer.from(id);
    this.#elsewhere = remoteConnectionOf(session);
    this.#elsewhere?.begin(this.id.toString());
  }

  get isLost(): boolean {
    const { ended, streams } = this.#session;
    return ended && (this.#elsewhere !== undefined || !streams.main.connected);
  }

  result(result: Buffer | string): void {
    this.reply(resultMessage(this.id, result));
  }

  error(code: number, message: string, data?: unknown): void {
    this.reply(errorMessage(this.id, code, message, data));
  }

  reply(message: Buffer): void {
    this.started = true;
    if (this.#elsewhere) this.#elsewhere.send(message, this.id.toString());
    else this.#session.streams.main.send(message);
  }

  message(message: Buffer): void {
    this.started = true;
    this.#session.streams.main.send(message);
  }

  end(ending: Ending): boolean {
    if (ending.kind === 'challenged' && !ending.scopes) this.#session.pendingChallenge = ending.message;
    if (ending.kind !== 'refused') return false;
    this.error(ending.code, ending.message, ending.data);
    return true;
  }

  drop(): void {
    this.#elsewhere?.drop(this.id.toString());
  }

  watchClient(): void {
    // the session ends with its stream, and its calls with the session
  }

  unwatchClient(): void {
    // see `watchClient`
  }
}
