import { expect, it } from 'vitest';
import { writeVisibly } from './process.ts';

it('row 106: escapes text, and passes bytes and the other arguments unchanged', () => {
  const written: unknown[][] = [];
  const stream = {
    write: (...args: unknown[]): boolean => {
      written.push(args);
      return false;
    },
  };
  writeVisibly(stream);
  const onWritten = (): void => undefined;
  expect(stream.write('a\u202Eb\u009Bc\n', 'utf8', onWritten)).toBe(false);
  const bytes = Buffer.from('\u001B[1m\u202E');
  stream.write(bytes);
  expect(written).toEqual([['a\\u202eb\\u009bc\n', 'utf8', onWritten], [bytes]]);
});
