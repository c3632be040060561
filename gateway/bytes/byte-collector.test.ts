import { describe, expect, it } from 'vitest';
import { ByteCollector } from './byte-collector.ts';
import { heldBytes } from './testdata/held-bytes.ts';

/** Returns pieces of these lengths, and the bytes of all of them. */
function piecesOf(lengths: readonly number[]): { pieces: Buffer[]; whole: Buffer } {
  const whole = Buffer.from(Array.from({ length: lengths.reduce((sum, each) => sum + each, 0) }, (_, at) => at % 251));
  let at = 0;
  const pieces = lengths.map((length) => Buffer.from(whole.subarray(at, (at += length))));
  return { pieces, whole };
}

const repeat = (times: number, ...lengths: number[]): number[] => Array.from({ length: times }, () => lengths).flat();

/** Shapes of messages: names and lengths of their pieces. */
const SHAPES: [string, number[]][] = [
  ['one piece', [700]],
  ['bytes', repeat(3_000, 1)],
  ['pieces that fill the room exactly', [511, 1, 512, 1_024, 2_048, 1]],
  ['short and long pieces in turn', repeat(40, 1, 70_000)],
  ['pieces just below and at the limit of a short one', repeat(30, 4_095, 4_096, 1)],
  ['empty pieces', [0, 3, 0, 5_000, 0]],
  ['one long piece between bytes', [...repeat(500, 1), 300_000, ...repeat(500, 1)]],
];

describe('ByteCollector', () => {
  it.each(SHAPES)('returns the bytes of %s in order, once', (_, lengths) => {
    const { pieces, whole } = piecesOf(lengths);
    const collector = new ByteCollector();
    for (const piece of pieces) collector.push(piece);
    expect(collector.length).toBe(whole.length);
    expect(collector.take().equals(whole)).toBe(true);
    expect([collector.length, collector.take().length]).toEqual([0, 0]);
    collector.push(Buffer.from('again'));
    expect(collector.take().toString()).toBe('again');
  });

  it('keeps a single long piece without a copy', () => {
    const piece = Buffer.alloc(5_000);
    const collector = new ByteCollector();
    collector.push(piece);
    expect(collector.take().buffer).toBe(piece.buffer);
  });

  it('drops the bytes of an abandoned message', () => {
    const collector = new ByteCollector();
    for (const piece of piecesOf([10, 6_000, 10]).pieces) collector.push(piece);
    collector.clear();
    collector.push(Buffer.from('next'));
    expect(collector.take().toString()).toBe('next');
  });

  it.each([
    ['bytes', repeat(100_000, 1), 1],
    ['views of 5 bytes on 640', repeat(20_000, 5), 640],
    ['views of 5,000 bytes on 60,000', repeat(100, 5_000), 60_000],
    ['bytes between long pieces', repeat(60, 1, 66_000), 66_000],
  ])('holds at most about twice the bytes of %s', (_, lengths, viewed) => {
    const collectors = Array.from({ length: 4 }, () => new ByteCollector());
    const before = heldBytes();
    for (const collector of collectors)
      for (const length of lengths) collector.push(Buffer.alloc(Math.max(viewed, length)).subarray(0, length));
    const held = heldBytes() - before;
    const bytes = collectors.reduce((sum, { length }) => sum + length, 0);
    expect(held).toBeLessThan(2.2 * bytes + 100_000);
  });
});

it('takes parts of pieces like views of them, short and long', () => {
  const piece = Buffer.from(Array.from({ length: 5_000 }, (_, index) => index % 251));
  const [parts, views] = [new ByteCollector(), new ByteCollector()];
  for (let from = 0; from < piece.length; from += 7) {
    const to = Math.min(from + (from % 3 === 0 ? 5 : 700), piece.length);
    parts.pushPart(piece, from, to);
    views.push(piece.subarray(from, to));
  }
  expect(parts.length).toBe(views.length);
  expect(parts.take().equals(views.take())).toBe(true);
});
