import type { IncomingMessage } from 'node:http';
import { ByteCollector } from '../../bytes/byte-collector.ts';
import { addressKey } from '../addresses/address-key.ts';
import { DISCARDED_BODIES, LARGE_BODIES, type ReadingTurn } from './reading-turns.ts';
import { costOf } from './unread-pieces.ts';

export interface BodyLimits {
  /** Maximum length of a body, in bytes. */
  readonly limit: number;
  /** Maximum length of a body that is kept in memory. A longer one is only counted. Default: `limit`. */
  readonly kept?: number | undefined;
  /** Reserves memory as a large body grows. Returning false stops the reading. */
  readonly hold?: ((bytes: number) => boolean) | undefined;
  /** Returns the key by which a large body takes turns with others. Default: the address of the peer. */
  readonly keyOf?: ((req: IncomingMessage) => string) | undefined;
}

/** Bodies up to this size need no reservation. */
const UNCOUNTED_BYTES = 16 * 1024;
/** Bodies that cost more are read in turns. */
const PACED_COST = 256 * 1024;

const peerKey = ({ socket }: IncomingMessage): string => addressKey(socket.remoteAddress ?? '');

/** Reasons for a missing body: longer than `limit`, longer than `kept`, rejected by `hold`, or the client has disconnected. */
export type BodyRefusal = 'too_large' | 'not_kept' | 'not_held' | 'gone';

/**
 * Reads a request body. Calls exactly one callback: `onBody` with the whole body, or `onRefused`. Counts the bytes, because
 * Content-Length may be wrong.
 */
export function readBody(
  req: IncomingMessage,
  { limit, kept = limit, hold, keyOf = peerKey }: BodyLimits,
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
  let rest: ByteCollector | undefined;
  let length = 0;
  let cost = 0;
  let turn: ReadingTurn | undefined;
  let done = false;
  const drop = (): void => {
    first = rest = undefined;
    turn?.close();
    turn = undefined;
  };
  const refuse = (why: BodyRefusal): void => {
    done = true;
    drop();
    onRefused(why);
  };
  req.on('data', (chunk: Buffer) => {
    if (done) return;
    const isKept = length <= kept;
    length += chunk.length;
    if (length > limit) refuse('too_large');
    else if (length > kept) {
      if (isKept) {
        drop();
        hold?.(0);
      }
    } else if (length > UNCOUNTED_BYTES && hold?.(length) === false) refuse('not_held');
    else if (first === undefined) first = chunk;
    else (rest ??= collectorOf(first)).push(chunk);
    if (done) return;
    const pieceCost = costOf(req, chunk);
    cost += pieceCost;
    if (cost > PACED_COST)
      (turn ??= (length > kept ? DISCARDED_BODIES : LARGE_BODIES).open(req, keyOf(req))).received(pieceCost);
  });
  req.on('end', () => {
    if (done) return;
    if (length > kept) {
      refuse('not_kept');
      return;
    }
    done = true;
    const body = rest ? rest.take() : (first ?? Buffer.alloc(0));
    drop(); // the request and these callbacks live until the reply ends
    onBody(body);
  });
  req.on('close', () => {
    if (!done) refuse('gone');
  });
}

function collectorOf(first: Buffer): ByteCollector {
  const collector = new ByteCollector();
  collector.push(first);
  return collector;
}
