import { Writable } from 'node:stream';

/** Time in which lines are collected, in ms. */
const WINDOW_MS = 10;
/** Number of characters after which the waiting lines are written. */
const MOST_WAITING = 64 * 1024;

/** Stream of lines in front of an output. */
export interface CollectedLines {
  /** Writes the first line at once and those of the next 10 ms together. */
  readonly stream: Writable;
  /** Writes the lines that wait. */
  readonly flush: () => void;
}

/**
 * Collects the lines for a pipe or a file: each write stops all requests for some 50 us, and a login writes three lines.
 * Lines that wait are written when the process exits. A process that is killed or runs out of memory loses them.
 */
export function collectedLines(output: Pick<NodeJS.WritableStream, 'write'>): CollectedLines {
  let waiting = '';
  let timer: NodeJS.Timeout | undefined;
  let hasExited = false;
  const flush = (): void => {
    if (waiting !== '') output.write(waiting);
    waiting = '';
  };
  const scheduleFlush = (): void => {
    timer = setTimeout(() => {
      timer = undefined;
      if (waiting !== '') scheduleFlush();
      flush();
    }, WINDOW_MS).unref();
  };
  process.once('exit', () => {
    hasExited = true;
    flush();
  });
  const stream = new Writable({
    decodeStrings: false,
    write(line: string, _encoding, onWritten) {
      waiting += line;
      const isFirst = timer === undefined;
      if (isFirst || hasExited || waiting.length >= MOST_WAITING) flush();
      if (isFirst) scheduleFlush();
      onWritten();
    },
  });
  return { stream, flush };
}
