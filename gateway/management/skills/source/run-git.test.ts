import { expect, it } from 'vitest';
import { lastText } from './run-git.ts';

async function* chunks(...texts: string[]): AsyncGenerator<Buffer> {
  for (const text of texts) yield Buffer.from(text);
}

it.each([
  [['ab', 'c'], 'abc'],
  [['ab', 'cdef', 'g'], 'efg'],
  [[], ''],
])('keeps the last bytes of %j', async (texts, expected) => {
  expect(await lastText(chunks(...texts), 3)).toBe(expected);
});
