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

/** One byte a second of a reply that never ends. */
function dribble(res: ServerResponse): void {
  res.writeHead(200, { 'Content-Type': 'application/json' }).write('{');
  const timer = setInterval(() => res.write(' '), 1_000);
  res.once('close', () => {
    clearInterval(timer);
  });
}

/** Answers one tools/call as a broken server does. `id` is the request's id as JSON. */
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
