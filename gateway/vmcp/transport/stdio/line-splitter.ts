import { BackendError } from '../channel.ts';

export interface LineSplitter {
  /**
   * @throws BackendError `too_large` for a line of more than `maxLineBytes`; the splitter must not be used afterwards
   */
  push(chunk: Buffer): void;
}

const LF = 0x0a;
const CR = 0x0d;

/**
 * Splits a byte stream into lines without their ends; empty lines are skipped. A line within one chunk is a view of it.
 */
export function createLineSplitter(onLine: (line: Buffer) => void, maxLineBytes: number): LineSplitter {
  let unfinished: Buffer[] = [];
  let unfinishedBytes = 0;
  const keep = (piece: Buffer) => {
    unfinishedBytes += piece.length;
    if (unfinishedBytes > maxLineBytes)
      throw new BackendError({ kind: 'too_large', detail: `a message is larger than ${maxLineBytes} bytes` });
    unfinished.push(piece);
  };
  const take = (): Buffer => {
    const line = unfinished.length === 1 ? unfinished[0] : Buffer.concat(unfinished);
    unfinished = [];
    unfinishedBytes = 0;
    return line ?? Buffer.alloc(0);
  };
  return {
    push(chunk) {
      let at = 0;
      for (let end = chunk.indexOf(LF); end !== -1; end = chunk.indexOf(LF, at)) {
        keep(chunk.subarray(at, end));
        at = end + 1;
        const line = take();
        const text = line.at(-1) === CR ? line.subarray(0, -1) : line;
        if (text.length > 0) onLine(text);
      }
      if (at < chunk.length) keep(chunk.subarray(at));
    },
  };
}

/**
 * Returns the JSON text on a single line, as stdio requires. A raw CR or LF in JSON is always white space between
 * tokens, so spaces replace them.
 */
export function toLine(message: Buffer): Buffer {
  const line = Buffer.allocUnsafe(message.length + 1);
  message.copy(line);
  line[message.length] = LF;
  for (const end of [LF, CR])
    for (let at = message.indexOf(end); at !== -1; at = message.indexOf(end, at + 1)) line[at] = 0x20;
  return line;
}
