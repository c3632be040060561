import { ApiError } from './api-error.ts';

const MAX_LINE_BYTES = 64 * 1024 * 1024;
const NEWLINE = 0x0a;

/** Yields the lines of a byte stream. Drops text after the last line break: the stream was cut there. */
export async function* linesOf(stream: AsyncIterable<Uint8Array>): AsyncGenerator<string, void> {
  let parts: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of stream) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      parts.push(chunk.subarray(start, end));
      yield textOf(parts);
      parts = [];
      size = 0;
      start = end + 1;
    }
    if (start === chunk.length) continue;
    parts.push(chunk.subarray(start));
    size += chunk.length - start;
    if (size > MAX_LINE_BYTES) throw invalid('a line of a watch is longer than 64 MiB');
  }
}

const textOf = (parts: readonly Uint8Array[]): string => Buffer.concat(parts).toString('utf8');

export const invalid = (message: string, cause?: unknown): ApiError =>
  new ApiError({ status: 0, reason: 'InvalidReply', message }, { cause });
