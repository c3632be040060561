import { expect, it } from 'vitest';
import { RecentlyUsed } from './recently-used.ts';

it('removes the least recently used value when it is full', () => {
  const values = new RecentlyUsed<number>(3);
  for (const [at, key] of ['a', 'b', 'c'].entries()) values.set(key, at, at * 2_000);
  expect(values.get('a', 6_000)).toBe(0);
  values.set('d', 3, 8_000);
  expect(['a', 'b', 'c', 'd'].map((key) => values.get(key, 10_000))).toEqual([0, undefined, 2, 3]);
});

it('records the use of a value at most once a second', () => {
  const values = new RecentlyUsed<number>(2);
  values.set('a', 1, 0);
  values.set('b', 2, 100);
  expect(values.get('a', 999)).toBe(1);
  values.set('c', 3, 1_000);
  expect(['a', 'b', 'c'].map((key) => values.get(key, 1_000))).toEqual([undefined, 2, 3]);
});

it('replaces a value without removing another, counts this as its latest use, and deletes a value', () => {
  const values = new RecentlyUsed<number>(2);
  values.set('a', 1, 0);
  values.set('b', 2, 0);
  values.set('b', 3, 0);
  expect(['a', 'b'].map((key) => values.get(key, 0))).toEqual([1, 3]);
  values.set('a', 4, 10);
  values.set('c', 5, 10);
  expect(['a', 'b', 'c'].map((key) => values.get(key, 10))).toEqual([4, undefined, 5]);
  values.delete('a');
  expect(values.get('a', 0)).toBeUndefined();
});
