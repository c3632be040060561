import type { IncomingMessage, ServerResponse } from 'node:http';
import { waitForTurn } from './paced-reading.ts';

const DISCARD_BYTES = 64 * 1024 * 1024;
const DISCARD_MS = 5_000;

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
  res.write(body);
  let discarded = 0;
  const end = (): void => {
    clearTimeout(timer);
    res.end();
  };
  const timer = setTimeout(end, DISCARD_MS);
  req.on('data', (chunk: Buffer) => {
    discarded += chunk.length;
    if (discarded > DISCARD_BYTES) end();
    else waitForTurn(req);
  });
  req.once('end', end);
  req.once('close', end);
  req.resume();
}
