import type { IncomingMessage } from 'node:http';

export interface BodyLimits {
  /** Bytes that a body may have. */
  readonly limit: number;
  /** Bytes of a body that is of use: a longer one is counted and not kept. `limit` when absent. */
  readonly kept?: number | undefined;
}

/** Reasons why there is no body: longer than `limit`, longer than `kept`, or the client left. */
export type BodyRefusal = 'too_large' | 'not_kept' | 'gone';

/**
 * Reads a request body. Exactly one of the callbacks is called: `onBody` with the whole body, or `onRefused`; the length is
 * counted, because Content-Length may lie.
 */
export function readBody(
  req: IncomingMessage,
  { limit, kept = limit }: BodyLimits,
  onBody: (body: Buffer) => void,
  onRefused: (why: BodyRefusal) => void,
): void {
  if (Number(req.headers['content-length'] ?? 0) > limit) {
    onRefused('too_large');
    return;
  }
  let first: Buffer | undefined;
  let rest: Buffer[] | undefined;
  let length = 0;
  let done = false;
  req.on('data', (chunk: Buffer) => {
    if (done) return;
    length += chunk.length;
    if (length > limit) {
      done = true;
      onRefused('too_large');
    } else if (length > kept) first = rest = undefined;
    else if (first === undefined) first = chunk;
    else (rest ??= [first]).push(chunk);
  });
  req.on('end', () => {
    if (done) return;
    done = true;
    if (length > kept) onRefused('not_kept');
    else onBody(rest ? Buffer.concat(rest, length) : (first ?? Buffer.alloc(0)));
  });
  req.on('close', () => {
    if (done) return;
    done = true;
    onRefused('gone');
  });
}
