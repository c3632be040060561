import type { IncomingMessage } from 'node:http';
import { waitForTurn } from './paced-reading.ts';

export interface BodyLimits {
  /** Maximum length of a body, in bytes. */
  readonly limit: number;
  /** Maximum length of a body that is kept in memory. A longer one is only counted. Default: `limit`. */
  readonly kept?: number | undefined;
  /** Reserves memory as a large body grows. Returning false stops the reading. */
  readonly hold?: ((bytes: number) => boolean) | undefined;
}

/** Bodies up to this size need no reservation. */
const UNCOUNTED_BYTES = 16 * 1024;
/** Bodies above this size are read in turns. */
const PACED_BYTES = 256 * 1024;

/** Reasons for a missing body: longer than `limit`, longer than `kept`, rejected by `hold`, or the client has disconnected. */
export type BodyRefusal = 'too_large' | 'not_kept' | 'not_held' | 'gone';

/**
 * Reads a request body. Calls exactly one callback: `onBody` with the whole body, or `onRefused`. Counts the bytes, because
 * Content-Length may be wrong.
 */
export function readBody(
  req: IncomingMessage,
  { limit, kept = limit, hold }: BodyLimits,
  onBody: (body: Buffer) => void,
  onRefused: (why: BodyRefusal) => void,
): void {
  const declared = Number(req.headers['content-length'] ?? 0);
  if (declared > limit) {
    onRefused('too_large');
    return;
  }
  if (declared > UNCOUNTED_BYTES && hold) {
    // checked, then released: a client may declare a large body and send nothing
    if (!hold(Math.min(declared, kept))) {
      onRefused('not_held');
      return;
    }
    hold(0);
  }
  let first: Buffer | undefined;
  let rest: Buffer[] | undefined;
  let length = 0;
  let done = false;
  const refuse = (why: BodyRefusal): void => {
    done = true;
    first = rest = undefined;
    onRefused(why);
  };
  req.on('data', (chunk: Buffer) => {
    if (done) return;
    length += chunk.length;
    if (length > limit) refuse('too_large');
    else if (length > kept) first = rest = undefined;
    else if (length > UNCOUNTED_BYTES && hold?.(length) === false) refuse('not_held');
    else if (first === undefined) first = chunk;
    else (rest ??= [first]).push(chunk);
    if (length > PACED_BYTES) waitForTurn(req);
  });
  req.on('end', () => {
    if (done) return;
    if (length > kept) {
      refuse('not_kept');
      return;
    }
    done = true;
    const body = rest ? Buffer.concat(rest, length) : (first ?? Buffer.alloc(0));
    first = rest = undefined; // the request and these callbacks live until the reply ends
    onBody(body);
  });
  req.on('close', () => {
    if (!done) refuse('gone');
  });
}
