/** Size above which bodies are sent in pieces, without a copy. */
export const LARGE_BODY_BYTES = 16 * 1024;

/** A request body in pieces. It can be sent again until it is released; then each piece is free once it is sent. */
export class BodyPieces implements Iterable<Buffer> {
  readonly length: number;
  #pieces: readonly Buffer[];

  constructor(pieces: readonly Buffer[]) {
    this.#pieces = pieces;
    this.length = pieces.reduce((bytes, piece) => bytes + piece.length, 0);
  }

  /** Returns all pieces; none when the body is released. */
  get pieces(): readonly Buffer[] {
    return this.#pieces;
  }

  release(): void {
    this.#pieces = [];
  }

  [Symbol.iterator](): Iterator<Buffer> {
    const unsent = [...this.#pieces];
    return {
      next: () => {
        const value = unsent.shift();
        return value === undefined ? { done: true, value } : { done: false, value };
      },
    };
  }
}
