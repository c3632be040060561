import { pipeline, type Readable, type Transform } from 'node:stream';
import { codingOf, UnknownCoding, type Coding } from '../../../bytes/content-coding.ts';
import { BackendError } from '../channel.ts';
import { garbage } from '../failure.ts';

/** Returns the coding of a reply; undefined without a coding. @throws BackendError for an unknown coding */
export function replyCoding(header: string | readonly string[] | undefined): Coding | undefined {
  try {
    return codingOf(header);
  } catch (error) {
    throw error instanceof UnknownCoding ? new BackendError(garbage(error.message, error.message)) : error;
  }
}

/** Source of pieces that can be slowed down: a connection, or a decoder. */
export interface PieceSource {
  pause(): unknown;
  resume(): unknown;
}

/** Receiver of a decoded body. The last call is exactly one of `bodyEnded` or `bodyBroken`. */
export interface BodyReceiver {
  bodyPiece(source: PieceSource, piece: Buffer): void;
  bodyEnded(): void;
  /** Called when the body is not what its coding promises, or breaks off. */
  bodyBroken(detail: string): void;
}

/** Decodes the body of a reply while it arrives. zlib works on other threads. */
export class BodyDecoder {
  readonly #coding: Coding;
  readonly #receiver: BodyReceiver;
  #decoder: Transform | undefined;
  #isPlain = false;

  constructor(coding: Coding, receiver: BodyReceiver) {
    this.#coding = coding;
    this.#receiver = receiver;
  }

  push(source: PieceSource, piece: Buffer): void {
    if (!this.#decoder && !this.#isPlain) this.#start(piece);
    const decoder = this.#decoder;
    if (!decoder) {
      this.#receiver.bodyPiece(source, piece);
      return;
    }
    if (decoder.write(piece) || decoder.destroyed) return;
    source.pause();
    decoder.once('drain', () => {
      source.resume();
    });
  }

  end(): void {
    if (this.#decoder) this.#decoder.end();
    else this.#receiver.bodyEnded();
  }

  /** Nothing is received afterwards. */
  destroy(): void {
    this.#decoder
      ?.removeAllListeners()
      .on('error', () => undefined)
      .destroy();
  }

  #start(first: Buffer): void {
    const decoder = this.#coding.decoder(first);
    this.#decoder = decoder;
    this.#isPlain = decoder === undefined;
    decoder
      ?.on('data', (piece: Buffer) => {
        this.#receiver.bodyPiece(decoder, piece);
      })
      .on('end', () => {
        this.#receiver.bodyEnded();
      })
      .on('error', (error: NodeJS.ErrnoException) => {
        this.#receiver.bodyBroken(`its body is not valid ${this.#coding.name} (${error.code ?? error.name})`);
      });
  }
}

/** Returns the pieces of a body, decoded. Reading throws when the body is not what its coding promises, or breaks off. */
export const decodedPieces = (body: Readable, coding: Coding | undefined): AsyncIterable<Buffer> =>
  coding ? decoded(body, coding) : (body as AsyncIterable<Buffer>);

async function* decoded(body: Readable, coding: Coding): AsyncGenerator<Buffer, void, undefined> {
  const rest = (body as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
  const first = await rest.next();
  if (first.done === true) return;
  const decoder = coding.decoder(first.value);
  const pieces = resumed(first.value, rest);
  yield* decoder ? (pipeline(pieces, decoder, () => undefined) as AsyncIterable<Buffer>) : pieces;
}

async function* resumed(first: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  yield first;
  yield* { [Symbol.asyncIterator]: () => rest };
}
