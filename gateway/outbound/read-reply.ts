import { pipeline, type Readable, type Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { OutboundError } from './outbound-error.ts';

const DECODERS: ReadonlyMap<string, () => Transform> = new Map<string, () => Transform>([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
]);

/** What the headers of a reply say about its body. */
export interface BodyFacts {
  readonly encoding: string;
  readonly contentLength: string | undefined;
}

/**
 * The body of a reply as text. What arrives and what it is unpacked to are both held to `maxBytes`.
 * @throws OutboundError
 */
export async function readReply(
  body: Readable,
  { encoding, contentLength }: BodyFacts,
  maxBytes: number,
): Promise<string> {
  if (Number(contentLength) > maxBytes) throw tooLarge(maxBytes);
  const pieces: Buffer[] = [];
  for await (const piece of limited(decoded(limited(body, maxBytes), encoding.trim().toLowerCase()), maxBytes)) {
    pieces.push(piece);
  }
  return new TextDecoder().decode(Buffer.concat(pieces));
}

/** A body that is not packed passes as it is; anything but one known encoding is refused. */
function decoded(body: AsyncIterable<Buffer>, encoding: string): AsyncIterable<Buffer> {
  if (encoding === '' || encoding === 'identity') return body;
  const decoder = DECODERS.get(encoding);
  if (!decoder) throw new OutboundError('unreachable', 'the reply is packed in a way that was not asked for');
  // A failure of either end destroys the decoder, whose reader meets it.
  return pipeline(body, decoder(), () => undefined) as AsyncIterable<Buffer>;
}

async function* limited(source: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<Buffer> {
  let received = 0;
  for await (const piece of source) {
    received += piece.length;
    if (received > maxBytes) throw tooLarge(maxBytes);
    yield piece;
  }
}

const tooLarge = (maxBytes: number): OutboundError =>
  new OutboundError('too_large', `the reply is longer than ${String(maxBytes)} bytes`);
