/** Size above which bodies are sent in pieces, without a copy. */
export const LARGE_BODY_BYTES = 16 * 1024;

/** A request body that releases each piece when it is sent. Can be read once. */
export class BodyPieces implements Iterable<Buffer> {
  readonly length: number;
  readonly #pieces: Buffer[];

  constructor(pieces: Buffer[]) {
    this.#pieces = pieces;
    this.length = pieces.reduce((bytes, piece) => bytes + piece.length, 0);
  }

  /** Returns the pieces that are not sent yet. */
  get pieces(): readonly Buffer[] {
    return this.#pieces;
  }

  [Symbol.iterator](): Iterator<Buffer> {
    return {
      next: () => {
        const value = this.#pieces.shift();
        return value === undefined ? { done: true, value } : { done: false, value };
      },
    };
  }
}
