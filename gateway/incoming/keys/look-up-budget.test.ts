import { expect, it } from 'vitest';
import { LookUpBudget } from './remote-keys.ts';

it('allows one look-up of each client in 30 s', () => {
  const budget = new LookUpBudget();
  expect([budget.take('a', 0), budget.take('a', 29_999), budget.take('b', 29_999)]).toEqual([true, false, true]);
  expect([budget.take('a', 30_000), budget.take('b', 30_000)]).toEqual([true, false]);
});

it('allows ten look-ups at once and then one in 3 s, however many clients there are', () => {
  const budget = new LookUpBudget();
  const taken = (now: number): number =>
    Array.from({ length: 100 }, (_, index) => budget.take(`${String(now)} ${String(index)}`, now)).filter(Boolean)
      .length;
  expect([taken(0), taken(2_999), taken(3_000), taken(9_000), taken(1_000_000)]).toEqual([10, 0, 1, 2, 10]);
});
