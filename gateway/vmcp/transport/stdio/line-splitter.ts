import { ByteCollector } from '../../../bytes/byte-collector.ts';
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
  const unfinished = new ByteCollector();
  const guardSize = (more: number) => {
    if (unfinished.length + more <= maxLineBytes) return;
    throw new BackendError({ kind: 'too_large', detail: `a message is larger than ${maxLineBytes} bytes` });
  };
  const endLine = (tail: Buffer): Buffer => {
    guardSize(tail.length);
    if (unfinished.length === 0) return tail;
    unfinished.push(tail);
    return unfinished.take();
  };
  return {
    push(chunk) {
      let at = 0;
      for (let end = chunk.indexOf(LF); end !== -1; end = chunk.indexOf(LF, at)) {
        const line = endLine(chunk.subarray(at, end));
        at = end + 1;
        const text = line.at(-1) === CR ? line.subarray(0, -1) : line;
        if (text.length > 0) onLine(text);
      }
      if (at === chunk.length) return;
      guardSize(chunk.length - at);
      unfinished.push(chunk.subarray(at));
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
