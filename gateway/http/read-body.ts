import type { IncomingMessage } from 'node:http';

/**
 * Reads a request body of at most `limit` bytes. Exactly one of the callbacks is called: `onBody` with the whole body,
 * or `onRefused` with true when it is longer (also when Content-Length lies) and false when the client went away.
 */
export function readBody(
  req: IncomingMessage,
  limit: number,
  onBody: (body: Buffer) => void,
  onRefused: (tooLarge: boolean) => void,
): void {
  if (Number(req.headers['content-length'] ?? 0) > limit) {
    onRefused(true);
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
      onRefused(true);
    } else if (first === undefined) first = chunk;
    else (rest ??= [first]).push(chunk);
  });
  req.on('end', () => {
    if (done) return;
    done = true;
    onBody(rest ? Buffer.concat(rest, length) : (first ?? Buffer.alloc(0)));
  });
  req.on('close', () => {
    if (done) return;
    done = true;
    onRefused(false);
  });
}
