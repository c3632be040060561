import type { IncomingMessage } from 'node:http';
import type { Writable } from 'node:stream';
import { ByteCollector } from '../../bytes/byte-collector.ts';

/**
 * Forwards a body as fast as its receiver reads, and ends the receiver. Joins what arrives at once: `pipe` writes each chunk, and an
 * unsent chunk of one byte takes 600 bytes.
 */
export function forwardBody(from: IncomingMessage, to: Writable): void {
  const pieces = new ByteCollector();
  let isWaiting = false;
  const send = (): void => {
    isWaiting = false;
    if (pieces.length === 0 || to.destroyed || to.write(pieces.take())) return;
    from.pause();
    to.once('drain', () => {
      from.resume();
    });
  };
  from.on('data', (piece: Buffer) => {
    pieces.push(piece);
    if (isWaiting) return;
    isWaiting = true;
    setImmediate(send);
  });
  from.on('end', () => {
    if (pieces.length > 0) to.end(pieces.take());
    else to.end();
  });
}
