import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';

export type Misbehaviour = 'hang' | 'slow-loris' | 'large' | 'garbage';

const LARGE_BYTES = 100 * 1024 * 1024;
const CHUNK = Buffer.alloc(64 * 1024, 'x');

function* largeReply(id: string): Generator<Buffer> {
  yield Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"text","text":"`);
  for (let sent = 0; sent < LARGE_BYTES; sent += CHUNK.length) yield CHUNK;
  yield Buffer.from('"}]}}');
}

/** Sends one byte per second of a reply that never ends. */
function dribble(res: ServerResponse): void {
  res.writeHead(200, { 'Content-Type': 'application/json' }).write('{');
  const timer = setInterval(() => res.write(' '), 1_000);
  res.once('close', () => {
    clearInterval(timer);
  });
}

/** Answers a tools/call with a fault. `id` is the id of the request as JSON. */
export function answerBadly(res: ServerResponse, how: Misbehaviour, id: string): void {
  switch (how) {
    case 'hang':
      return;
    case 'slow-loris':
      dribble(res);
      return;
    case 'large':
      res.writeHead(200, { 'Content-Type': 'application/json' });
      Readable.from(largeReply(id))
        .on('error', () => res.destroy())
        .pipe(res);
      return;
    case 'garbage':
      res.writeHead(200, { 'Content-Type': 'application/json' }).end('\u0000{{]"not json\u0007');
  }
}
