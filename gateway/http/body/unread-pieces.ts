import type { IncomingMessage } from 'node:http';
import { ByteCollector } from '../../bytes/byte-collector.ts';

/** Length from which a piece of a body is not copied. */
const LONG_PIECE_BYTES = 4 * 1024;
/** Unread bytes of a body at which its connection is not read further. One read of a connection gives up to 64 KiB. */
const MOST_UNREAD_BYTES = 16 * 1024;

/** Cost of one chunk of a body beside its bytes: the time to parse it, as that of so many bytes of a long chunk. */
const PIECE_COST = 128;

const JOINED = Symbol('joined pieces');

interface JoiningRequest extends IncomingMessage {
  /** Present once a second piece came before the first one was read. */
  [JOINED]?: { readonly bytes: ByteCollector; count: number };
}

interface ReadableMethods {
  readonly push: (this: IncomingMessage, piece: Buffer | null) => boolean;
  readonly read: (this: IncomingMessage, size?: number) => Buffer | null;
}

/** Returns the bytes that the pieces in `chunk` cost: those of the body, and more for each piece. */
export function costOf(req: IncomingMessage, chunk: Buffer): number {
  const joined = (req as JoiningRequest)[JOINED];
  let pieces = 1;
  if (joined !== undefined) {
    pieces += joined.count;
    joined.count = 0;
  }
  return chunk.length + pieces * PIECE_COST;
}

/**
 * Bounds the memory of a body that nobody reads yet: joins its short pieces, and stops the reading of the connection early. Node.js
 * makes one Buffer of each chunk: a body in chunks of one byte, unread while a token is validated or a turn is awaited, takes 450
 * bytes for each. `message` is the prototype of requests, or one message whose body has not begun. Call it once for each.
 */
export function joinUnreadPieces(message: IncomingMessage): void {
  const { push, read } = message as unknown as ReadableMethods;

  function joiningPush(this: JoiningRequest, piece: Buffer | null): boolean {
    const joined = this[JOINED];
    const isLong = piece === null || piece.length >= LONG_PIECE_BYTES;
    if (joined === undefined || joined.bytes.length === 0) {
      if (isLong || this.readableLength === 0) return push.call(this, piece);
    } else if (isLong) {
      push.call(this, joined.bytes.take());
      return push.call(this, piece);
    }
    const unread = joined ?? (this[JOINED] = { bytes: new ByteCollector(), count: 0 });
    unread.bytes.push(piece);
    unread.count += 1;
    return unread.bytes.length < MOST_UNREAD_BYTES;
  }

  /** Readers, and streams that flow, take the bytes by `read()`; `read(0)` only lets the connection be read ahead. */
  function joinedRead(this: JoiningRequest, size?: number): Buffer | null {
    const joined = this[JOINED];
    if (size === 0) {
      const unread = this.readableLength + (joined?.bytes.length ?? 0);
      if (unread >= MOST_UNREAD_BYTES && this.readableFlowing !== true) return null;
    } else if (joined !== undefined && joined.bytes.length > 0) push.call(this, joined.bytes.take());
    return read.call(this, size);
  }

  Object.assign(message, { push: joiningPush, read: joinedRead });
}
