import { describe, expect, it } from 'vitest';
import { SortedView } from './sorted-view.ts';

/** Linear congruential generator with a fixed seed. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state % below;
  };
}

describe('SortedView', () => {
  it('equals a full sort after any sequence of changes', () => {
    const next = numbers(7);
    const expected = new Map<string, number>();
    const sorted = new SortedView<number>();
    for (let round = 0; round < 400; round += 1) {
      for (let change = next(6); change >= 0; change -= 1) {
        const name = `n${String(next(40))}`;
        const value = next(3) === 0 ? undefined : next(1_000);
        if (value === undefined) expected.delete(name);
        else expected.set(name, value);
        sorted.set(name, value);
      }
      expect([...sorted.view()]).toEqual([...expected].sort(([a], [b]) => (a < b ? -1 : 1)));
    }
  });

  it('returns an immutable map, and the same one until a value changes', () => {
    const sorted = new SortedView<number>();
    sorted.set('b', 1);
    const first = sorted.view();
    expect(sorted.view()).toBe(first);
    sorted.set('a', 2);
    sorted.set('b', undefined);
    expect([...first]).toEqual([['b', 1]]);
    expect([...sorted.view()]).toEqual([['a', 2]]);
  });
});
