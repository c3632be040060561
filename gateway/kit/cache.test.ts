import { expect, it } from 'vitest';
import { ExpiringMap, RecentlyUsed } from './cache.ts';

it('returns entries until they expire, and a taken entry once', () => {
  let now = 0;
  const map = new ExpiringMap<string>(() => now);
  map.set('a', 'A', 10);
  map.set('never', 'N', 0);
  expect([map.get('a'), map.has('a'), map.remainingMs('a'), map.get('never')]).toEqual(['A', true, 10, undefined]);
  now = 9;
  expect(map.remainingMs('a')).toBe(1);
  now = 10;
  expect([map.get('a'), map.has('a'), map.remainingMs('a'), map.delete('a')]).toEqual([undefined, false, 0, false]);
  map.set('b', 'B', 10);
  expect([map.take('b'), map.take('b')]).toEqual(['B', undefined]);
});

it('removes expired entries on a write every 5 minutes', () => {
  let now = 0;
  const map = new ExpiringMap<number>(() => now);
  for (let count = 0; count < 1_000; count += 1) map.set(String(count), count, 1_000);
  now = 299_999;
  map.set('before', 1, 1_000);
  expect(map.size).toBe(1_001);
  now = 300_000;
  map.set('after', 1, 1_000);
  expect(map.size).toBe(2);
});

it('drops the oldest entries first, and counts the live ones', () => {
  let now = 0;
  const map = new ExpiringMap<number>(() => now);
  for (const [at, key] of ['a', 'b', 'c'].entries()) map.set(key, at, 100 + at);
  map.set('a', 3, 200);
  map.dropOldest(3);
  expect([...map.values()]).toEqual([2, 3]);
  expect(map.census()).toEqual({ size: 2, nextMs: 102 });
  now = 150;
  expect(map.census()).toEqual({ size: 1, nextMs: 50 });
});

it('reports each removed entry once', () => {
  let now = 0;
  const removed: string[] = [];
  const map = new ExpiringMap<string>(
    () => now,
    (value) => removed.push(value),
  );
  const names = ['deleted', 'taken', 'replaced', 'read', 'swept'];
  for (const name of names) map.set(name, name, name === 'read' || name === 'swept' ? 10 : 20);
  map.delete('deleted');
  map.delete('deleted');
  map.take('taken');
  map.set('replaced', 'new', 20);
  now = 10;
  map.get('read');
  map.sweep();
  map.dropOldest(1);
  expect(removed).toEqual(['deleted', 'taken', 'replaced', 'read', 'swept', 'new']);
});

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
