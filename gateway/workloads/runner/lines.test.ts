import { Readable } from 'node:stream';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { readLines } from './lines.ts';

const limits = { maxLength: 10, maxLines: 3, windowMs: 60_000 };

async function linesOf(chunks: (string | Buffer)[]): Promise<{ lines: string[]; dropped: number[] }> {
  const [lines, dropped]: [string[], number[]] = [[], []];
  const stream = Readable.from(chunks, { objectMode: false });
  readLines(stream, { line: (text) => lines.push(text), dropped: (count) => dropped.push(count) }, limits);
  await once(stream, 'close');
  return { lines, dropped };
}

describe('readLines', () => {
  it('joins pieces, also within a character', async () => {
    const euro = Buffer.from('€\r\n');
    const { lines } = await linesOf(['on', 'e\ntw', 'o\n', euro.subarray(0, 2), euro.subarray(2)]);
    expect(lines).toEqual(['one', 'two', '€']);
  });

  it('reports an unfinished last line and no empty ones', async () => {
    expect((await linesOf(['\n\none\n  \nlast'])).lines).toEqual(['one', 'last']);
  });

  it('cuts long lines, however they arrive', async () => {
    const { lines } = await linesOf(['x'.repeat(25), 'x'.repeat(25), '\n', `${'y'.repeat(30)}\n`]);
    expect(lines).toEqual(['x'.repeat(10), 'y'.repeat(10)]);
  });

  it('counts what exceeds the rate instead of reporting it', async () => {
    expect(await linesOf(['1\n2\n3\n4\n5\n'])).toEqual({ lines: ['1', '2', '3'], dropped: [2] });
  });
});
