/** Length from which a piece stays as it is: its object is small beside it. A shorter one is copied behind the others. */
const KEPT_BYTES = 4 * 1024;
/** Length up to which bytes are copied singly: a call of the native copy takes longer. */
const SHORT_BYTES = 32;
/** Memory for short pieces: as much as there are bytes already, within these limits. */
const ROOM_BYTES = { least: 512, most: 64 * 1024 };

const NOTHING = Buffer.alloc(0);

/**
 * Bytes that arrive in pieces. Holds about twice their number at most, however short the pieces are and whatever memory they
 * are views of: an own Buffer costs a hundred bytes, and a view keeps all of its memory.
 */
export class ByteCollector {
  #length = 0;
  /** The first piece, while it is the only one: most messages have one. */
  #only: Buffer | undefined;
  /** Complete parts, in order. */
  #parts: Buffer[] | undefined;
  /** Last part, with room for more. */
  #last: Buffer | undefined;
  #used = 0;

  get length(): number {
    return this.#length;
  }

  /** Adds the bytes of `piece` from `from` to `to`. A short part needs no view. */
  pushPart(piece: Buffer, from: number, to: number): void {
    const last = this.#last;
    if (!last || to - from > SHORT_BYTES || to - from > last.length - this.#used) {
      this.push(piece.subarray(from, to));
      return;
    }
    for (let at = from; at < to; at += 1) last[this.#used++] = piece[at] as number;
    this.#length += to - from;
  }

  push(piece: Buffer): void {
    const { length } = piece;
    if (length === 0) return;
    const isFirst = this.#length === 0;
    this.#length += length;
    if (isFirst && piece.buffer.byteLength <= 2 * length + KEPT_BYTES) {
      this.#only = piece;
      return;
    }
    if (this.#only) {
      this.#append(this.#only);
      this.#only = undefined;
    }
    this.#append(piece);
  }

  /** Returns all bytes, and is empty afterwards. */
  take(): Buffer {
    const whole = this.#only ?? this.#joined();
    this.clear();
    return whole;
  }

  clear(): void {
    this.#length = this.#used = 0;
    this.#only = this.#parts = this.#last = undefined;
  }

  #joined(): Buffer {
    if (!this.#parts) return this.#last?.subarray(0, this.#used) ?? NOTHING;
    this.#completeLast();
    return this.#parts.length === 1 ? (this.#parts[0] as Buffer) : Buffer.concat(this.#parts, this.#length);
  }

  #append(piece: Buffer): void {
    const { length, buffer } = piece;
    const last = this.#last;
    if (last && length <= last.length - this.#used) {
      last.set(piece, this.#used);
      this.#used += length;
      return;
    }
    this.#completeLast();
    if (length >= KEPT_BYTES && buffer.byteLength <= 2 * length) {
      (this.#parts ??= []).push(piece);
      return;
    }
    const room = Math.min(Math.max(this.#length, ROOM_BYTES.least), ROOM_BYTES.most);
    this.#last = Buffer.allocUnsafeSlow(Math.max(room, length)); // not of the pool of Node.js, which a view would keep
    this.#last.set(piece);
    this.#used = length;
  }

  /** Copies a part that is mostly empty. The next piece is longer than its room, so that copies cost no more than the bytes. */
  #completeLast(): void {
    const last = this.#last;
    if (!last) return;
    let part = last.subarray(0, this.#used);
    if (part.length * 2 < last.length) {
      part = Buffer.allocUnsafeSlow(this.#used);
      part.set(last.subarray(0, this.#used));
    }
    (this.#parts ??= []).push(part);
    this.#last = undefined;
    this.#used = 0;
  }
}
