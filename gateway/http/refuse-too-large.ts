import type { IncomingMessage, ServerResponse } from 'node:http';

const DISCARD_BYTES = 64 * 1024 * 1024;
const DISCARD_MS = 5_000;

/**
 * Answers 413 and throws away what still comes, up to a bound: closing at once resets the connection under a client that
 * is still sending, and the answer is lost. @see RFC 9112 §9.6
 */
export function refuseTooLarge(
  req: IncomingMessage,
  res: ServerResponse,
  message: string,
  contentType = 'text/plain',
): void {
  const body = Buffer.from(`${message}\n`);
  res.writeHead(413, { 'content-type': contentType, 'content-length': body.length, connection: 'close' });
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
  });
  req.once('end', end);
  req.once('close', end);
  req.resume();
}
