import type { IncomingMessage } from 'node:http';
import { waitForTurn } from './paced-reading.ts';

export interface BodyLimits {
  /** Bytes that a body may have. */
  readonly limit: number;
  /** Bytes of a body that is of use: a longer one is counted and not kept. `limit` when absent. */
  readonly kept?: number | undefined;
  /** Asked whether so many bytes may be in memory, as a large body grows; a refusal ends the reading. */
  readonly hold?: ((bytes: number) => boolean) | undefined;
}

/** Bodies up to this size are not asked for. */
const UNCOUNTED_BYTES = 16 * 1024;
/** Bodies above this size take turns. */
const PACED_BYTES = 256 * 1024;

/** Reasons why there is no body: longer than `limit`, longer than `kept`, refused by `hold`, or the client left. */
export type BodyRefusal = 'too_large' | 'not_kept' | 'not_held' | 'gone';

/**
 * Reads a request body. Exactly one of the callbacks is called: `onBody` with the whole body, or `onRefused`; the length is
 * counted, because Content-Length may lie.
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
    // nothing is held for what has not arrived: a client may declare much and send nothing
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
    first = rest = undefined; // the request object lives as long as its reply, and these callbacks with it
    onBody(body);
  });
  req.on('close', () => {
    if (!done) refuse('gone');
  });
}
