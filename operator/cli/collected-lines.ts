import { Writable } from 'node:stream';

/** Longest time that a line waits, in ms. */
const WAIT_MS = 10;
/** Most characters that wait. */
const MOST_WAITING = 64 * 1024;

/**
 * Passes lines on to a pipe or a file: the first one at once, those of the next 10 ms together. Each write stops all
 * requests for some 50 us, and a login writes three lines. Lines that wait are written when the process exits; a
 * process that is killed loses them.
 */
export function collectedLines(to: Pick<NodeJS.WritableStream, 'write'>): Writable {
  let waiting = '';
  let timer: NodeJS.Timeout | undefined;
  const pass = (): void => {
    if (waiting !== '') to.write(waiting);
    waiting = '';
  };
  const passLater = (): void => {
    timer = setTimeout(() => {
      timer = undefined;
      if (waiting !== '') passLater();
      pass();
    }, WAIT_MS).unref();
  };
  process.once('exit', pass);
  return new Writable({
    decodeStrings: false,
    write(line: string, _encoding, onWritten) {
      waiting += line;
      if (timer === undefined) {
        pass();
        passLater();
      } else if (waiting.length >= MOST_WAITING) pass();
      onWritten();
    },
  });
}
