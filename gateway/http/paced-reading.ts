import type { IncomingMessage } from 'node:http';

/** Interval between socket reads, about 64 MB/s for all large bodies together. */
const TURN_MS = 1;

const waiting = new Set<IncomingMessage>();
let timer: NodeJS.Timeout | undefined;

/** Pauses a request until its turn comes, so that large bodies leave time for short requests beside them. */
export function waitForTurn(req: IncomingMessage): void {
  req.pause();
  waiting.add(req);
  timer ??= setInterval(resumeNext, TURN_MS);
}

function resumeNext(): void {
  const [next] = waiting;
  if (next) {
    waiting.delete(next);
    next.resume();
  }
  if (waiting.size > 0) return;
  clearInterval(timer);
  timer = undefined;
}
