import { describe, expect, it } from 'vitest';
import { heldBytes } from '../../../bytes/testdata/held-bytes.ts';
import { BackendError } from '../channel.ts';
import { createLineSplitter, toLine } from './line-splitter.ts';

function split(chunks: readonly Buffer[], limit = 1_000): string[] {
  const lines: string[] = [];
  const splitter = createLineSplitter((line) => lines.push(line.toString()), limit);
  for (const chunk of chunks) splitter.push(chunk);
  return lines;
}

describe('createLineSplitter', () => {
  it.each([
    ['{"a":1}\n{"b":2}\n', ['{"a":1}', '{"b":2}']],
    ['{"a":1}\r\n\r\n\n{"é":"€"}\n', ['{"a":1}', '{"é":"€"}']],
    ['unfinished\nrest', ['unfinished']],
    ['a\rb\n', ['a\rb']],
  ])('splits %j into the same lines at any chunk boundaries', (text, expected) => {
    const bytes = Buffer.from(text);
    for (let first = 0; first <= bytes.length; first += 1)
      for (let second = first; second <= bytes.length; second += 1)
        expect(split([bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)])).toEqual(
          expected,
        );
  });

  it.each([[['x'.repeat(11)]], [['x'.repeat(6), 'x'.repeat(5)]], [['x'.repeat(11), '\n']]])(
    'refuses a line beyond the limit',
    (chunks) => {
      const bytes = chunks.map((chunk) => Buffer.from(chunk));
      expect(() => split(bytes, 10)).toThrow(BackendError);
      expect(() => split(bytes, 11)).not.toThrow();
    },
  );

  it.each([
    ['of one byte', 1, 1, 100_000],
    ['that are views of 10 KB', 100, 10_000, 1_000],
  ])('row 89: holds at most about twice the bytes of a line in pieces %s', (_, length, viewed, times) => {
    const splitter = createLineSplitter(() => undefined, 1_000_000);
    const before = heldBytes();
    for (let each = 0; each < times; each += 1) splitter.push(Buffer.alloc(viewed, 'x').subarray(0, length));
    expect(heldBytes() - before).toBeLessThan(2.2 * times * length + 100_000);
    expect(() => splitter.push(Buffer.alloc(1_000_001 - times * length, 'x'))).toThrow(BackendError);
  });

  it('limits a line, not the stream', () => {
    expect(
      split(
        Array.from({ length: 50 }, () => Buffer.from('123456789\n')),
        10,
      ),
    ).toHaveLength(50);
  });
});

it.each([
  ['{"a":1}', '{"a":1}\n'],
  ['{\r\n "a":\n"b\\n"}', '{   "a": "b\\n"}\n'],
])('toLine(%j) returns one line with the same JSON value', (text, line) => {
  const message = Buffer.from(text);
  expect(toLine(message).toString()).toBe(line);
  expect(message.toString()).toBe(text);
  expect(JSON.parse(line)).toEqual(JSON.parse(text));
});
