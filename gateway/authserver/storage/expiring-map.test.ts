import { expect, it } from 'vitest';
import { ExpiringMap } from './expiring-map.ts';

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
