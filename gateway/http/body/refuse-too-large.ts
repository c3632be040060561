import type { IncomingMessage, ServerResponse } from 'node:http';
import { addressKey } from '../client-address.ts';
import { DISCARDED_BODIES } from './reading-turns.ts';
import { costOf } from './unread-pieces.ts';

const DISCARD_COST = 64 * 1024 * 1024;
const DISCARD_MS = 5_000;
/** Most bodies that are discarded at a time: each has up to 80 KiB in memory. */
const MOST_DISCARDED = 200;

let discarding = 0;

/** Answers 413 while the client is still sending the body. */
export function refuseTooLarge(
  req: IncomingMessage,
  res: ServerResponse,
  message: string,
  contentType = 'text/plain',
): void {
  refuseUnread(req, res, 413, Buffer.from(`${message}\n`), { 'content-type': contentType });
}

/**
 * Sends the answer, then discards the rest of the body up to a limit. Closing at once would reset the connection while the client
 * is still sending, and the client would lose the answer. @see RFC 9112 §9.6
 */
export function refuseUnread(
  req: IncomingMessage,
  res: ServerResponse,
  status: number,
  body: Buffer,
  headers: Readonly<Record<string, string>>,
): void {
  res.writeHead(status, { ...headers, 'content-length': body.length, connection: 'close' });
  if (discarding >= MOST_DISCARDED) {
    res.end(body);
    return;
  }
  res.write(body);
  discard(req, () => {
    res.end();
  });
}

function discard(req: IncomingMessage, onEnd: () => void): void {
  const turn = DISCARDED_BODIES.open(req, addressKey(req.socket.remoteAddress ?? ''));
  let [discarded, isOver] = [0, false];
  discarding += 1;
  const end = (): void => {
    if (isOver) return;
    isOver = true;
    discarding -= 1;
    clearTimeout(timer);
    turn.close();
    onEnd();
  };
  const timer = setTimeout(end, DISCARD_MS);
  req.on('data', (chunk: Buffer) => {
    if (isOver) return;
    const cost = costOf(req, chunk);
    discarded += cost;
    if (discarded > DISCARD_COST) end();
    else turn.received(cost);
  });
  req.once('end', end);
  req.once('close', end);
  req.resume();
}
