import { ByteCollector } from '../bytes/byte-collector.ts';
import { ApiError } from './api-error.ts';

const MAX_LINE_BYTES = 64 * 1024 * 1024;
const NEWLINE = 0x0a;

/** Yields the lines of a byte stream. Drops text after the last line break: the stream was cut there. */
export async function* linesOf(stream: AsyncIterable<Uint8Array>): AsyncGenerator<string, void> {
  const unfinished = new ByteCollector();
  for await (const chunk of stream) {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
      unfinished.push(bytes.subarray(start, end));
      yield unfinished.take().toString('utf8');
      start = end + 1;
    }
    unfinished.push(bytes.subarray(start));
    if (unfinished.length > MAX_LINE_BYTES) throw invalid('a line of a watch is longer than 64 MiB');
  }
}

export const invalid = (message: string, cause?: unknown): ApiError =>
  new ApiError({ status: 0, reason: 'InvalidReply', message }, { cause });
