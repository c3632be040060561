import type { IncomingMessage, ServerResponse } from 'node:http';
import { waitForTurn } from './paced-reading.ts';

const DISCARD_BYTES = 64 * 1024 * 1024;
const DISCARD_MS = 5_000;

/** Answers 413 to a request whose body is still being sent. */
export function refuseTooLarge(
  req: IncomingMessage,
  res: ServerResponse,
  message: string,
  contentType = 'text/plain',
): void {
  refuseUnread(req, res, 413, Buffer.from(`${message}\n`), { 'content-type': contentType });
}

/**
 * Answers and discards the rest of the body, up to a bound: closing at once resets the connection under a client that is
 * still sending, and the answer is lost. @see RFC 9112 §9.6
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
