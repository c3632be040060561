import { expect, it } from 'vitest';
import { ANONYMOUS } from '../../contract/identity.ts';
import { StreamPlaces } from './stream-places.ts';

it('limits the streams per principal and in total', () => {
  const places = new StreamPlaces({ total: 4, perPrincipal: 2 });
  expect(['alice', 'alice', 'alice', 'bob', 'bob', 'carol'].map((name) => places.take(name))).toEqual([
    true,
    true,
    false,
    true,
    true,
    false,
  ]);
  places.leave('alice');
  expect(places.take('carol')).toBe(true);
});

it('allows anonymous clients the whole capacity', () => {
  const places = new StreamPlaces({ total: 3, perPrincipal: 1 });
  expect([1, 2, 3, 4].map(() => places.take(ANONYMOUS))).toEqual([true, true, true, false]);
  for (let each = 0; each < 3; each += 1) places.leave(ANONYMOUS);
  expect(places.taken).toBe(0);
});
