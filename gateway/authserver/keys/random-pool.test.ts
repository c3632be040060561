import { expect, it } from 'vitest';
import { randomPool } from './random-pool.ts';

it('returns the requested number of bytes, never the same bytes twice, and does not change returned bytes', () => {
  const random = randomPool();
  const given = Array.from({ length: 2_000 }, (_, index) => random(16 + (index % 33)));
  const texts = given.map((bytes) => bytes.toString('hex'));
  expect(given.every((bytes, index) => bytes.length === 16 + (index % 33))).toBe(true);
  expect(new Set(texts).size).toBe(given.length);
  random(4_096);
  expect(given.map((bytes) => bytes.toString('hex'))).toEqual(texts);
  expect(() => random(4_097)).toThrow(RangeError);
});
