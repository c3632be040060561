import type { Answer, CallRefusal } from '../answers/answer.ts';
import { CODE } from '../error-codes.ts';
import { errorMessage, resultMessage } from '../message.ts';
import type { Session } from '../session.ts';

/** Answer on the only stream of a session of 2024-11-05. A long reply is collected first, so that no message interrupts it. */
export class StreamAnswer implements Answer {
  readonly id: Buffer;
  started = false;
  readonly #session: Session;
  readonly collects = true;
  #parts: Buffer[] = [];

  constructor(session: Session, id: Buffer) {
    this.#session = session;
    this.id = Buffer.from(id);
  }

  result(result: Buffer | string): void {
    this.reply(resultMessage(this.id, result));
  }

  error(code: number, message: string, data?: unknown): void {
    this.reply(errorMessage(this.id, code, message, data));
  }

  reply(message: Buffer): void {
    this.started = true;
    this.#session.streams.main.send(message);
  }

  part(piece: Buffer): boolean {
    this.#parts.push(piece);
    return true;
  }

  end(): void {
    const reply = Buffer.concat(this.#parts);
    this.drop();
    this.reply(reply);
  }

  message(message: Buffer): void {
    this.started = true;
    this.#session.streams.main.send(message);
  }

  challenge(description: string, scopes?: readonly string[]): boolean {
    if (!scopes) this.#session.pendingChallenge = description;
    return false;
  }

  refuse({ code, message, data }: CallRefusal): void {
    this.error(code, message, data);
  }

  unavailable(): boolean {
    return false;
  }

  busy(): boolean {
    return false;
  }

  drop(): void {
    this.#parts = [];
  }

  cut(): void {
    this.drop();
    this.error(CODE.internal, 'the reply of the backend is incomplete');
  }

  watchClient(): void {
    // the session ends with its stream, and its calls with the session
  }

  unwatchClient(): void {
    // see `watchClient`
  }

  onDrain(callback: () => void): void {
    callback();
  }
}
