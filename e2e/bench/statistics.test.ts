import { describe, expect, it } from 'vitest';
import { median, medianOrNull, percentile } from './statistics.ts';

describe('median', () => {
  it.each([
    [[7], 7],
    [[3, 1, 2], 2],
    [[4, 1, 3, 2], 2.5],
    [[10, 9, 100, 1], 9.5],
    [[-5, -1, -3], -3],
    [[2, 2, 2, 9], 2],
  ])('of %j is %d', (values, expected) => {
    expect(median(values)).toBe(expected);
  });

  it('leaves its input in order', () => {
    const values = [3, 1, 2];
    median(values);
    expect(values).toEqual([3, 1, 2]);
  });

  it('rejects an empty list', () => {
    expect(() => median([])).toThrow(RangeError);
  });
});

describe('percentile', () => {
  const hundred = Array.from({ length: 100 }, (_, index) => 100 - index);

  it.each([
    [0, 1],
    [1, 1],
    [50, 50],
    [99, 99],
    [100, 100],
  ])('%d of 1..100 is %d', (rank, expected) => {
    expect(percentile(hundred, rank)).toBe(expected);
  });

  it('takes the larger neighbour between two ranks', () => {
    expect(percentile([1, 2, 3], 99)).toBe(3);
    expect(percentile([1, 2, 3], 34)).toBe(2);
  });

  it.each([-1, 101, Number.NaN])('rejects rank %d', (rank) => {
    expect(() => percentile([1], rank)).toThrow(RangeError);
  });
});

describe('medianOrNull', () => {
  it('is the median where every round has a value', () => {
    expect(medianOrNull([3, 1, 2])).toBe(2);
  });

  it('is null where one round has none', () => {
    expect(medianOrNull([3, null, 2])).toBeNull();
  });
});
