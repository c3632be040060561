import { expect, it } from 'vitest';
import { ByteBudget } from './budgets/byte-budget.ts';
import { SESSION_SUBSCRIPTIONS } from './budgets/limits.ts';
import { Subscriptions } from './subscriptions.ts';

const uri = (number: number, length: number): string => `x://${String(number).padEnd(length, '-')}`;

/** Subscribes until a budget is full. Returns the number of subscriptions and the full budget. */
function fill(subscriptions: Subscriptions, length: number): readonly [number, string] {
  for (;;) {
    const full = subscriptions.begin(uri(subscriptions.size, length), 'a');
    if (full) return [subscriptions.size, full];
  }
}

it('limits the bytes per session, per principal and in total, and releases them', () => {
  const budget = new ByteBudget({ perPrincipal: 1_000_000, total: 1_500_000 });
  const of = (principal: string): Subscriptions => new Subscriptions(budget.open(principal));
  const [first, second, third, other] = [of('ann'), of('ann'), of('ann'), of('bob')];
  expect(fill(of('eve'), 20)).toEqual([SESSION_SUBSCRIPTIONS.count, 'session']);
  expect(fill(first, 2_000)[1]).toBe('session');
  expect(fill(second, 2_000)[1]).toBe('principal');
  expect(fill(third, 2_000)).toEqual([0, 'principal']);
  expect(budget.usedBy('ann')).toBeLessThanOrEqual(1_000_000);
  expect(fill(other, 2_000)[1]).toBe('principal');
  expect(budget.used).toBeLessThanOrEqual(1_500_000);
  first.delete(uri(0, 2_000));
  expect(third.begin(uri(0, 2_000), 'a')).toBeUndefined();
  for (const one of [first, second, third]) one.clear();
  expect(budget.usedBy('ann')).toBe(0);
});

it('checks each subscription once for each identity, until all are checked again', () => {
  const budget = new ByteBudget({ perPrincipal: 10_000, total: 10_000 });
  const subscriptions = new Subscriptions(budget.open('ann'));
  const [high, low] = [{}, {}];
  const asked: string[] = [];
  const checkFor = (identity: object) =>
    subscriptions.keepFor(identity, (uri) => {
      asked.push(uri);
      return identity === high || !uri.startsWith('secret:');
    });
  subscriptions.begin('x://1', 'a');
  subscriptions.begin('secret://1', 'a');
  expect([checkFor(high), checkFor(high), asked]).toEqual([[], [], ['x://1', 'secret://1']]);
  expect([checkFor(low), checkFor(low), subscriptions.size]).toEqual([['secret://1'], [], 1]);
  subscriptions.begin('secret://1', 'a');
  asked.length = 0;
  expect([checkFor(high), checkFor(low), asked]).toEqual([[], ['secret://1'], ['secret://1', 'secret://1']]);
  subscriptions.keep(() => true);
  expect([checkFor(low), asked.at(-1)]).toEqual([[], 'x://1']);
});

it('removes a subscription that the backend rejected, unless it had accepted it before', () => {
  const budget = new ByteBudget({ perPrincipal: 10_000, total: 10_000 });
  const subscriptions = new Subscriptions(budget.open('ann'));
  subscriptions.begin('x://1', 'a');
  subscriptions.begin('x://1', 'a');
  subscriptions.settle('x://1', false);
  expect([subscriptions.has('x://1'), subscriptions.acceptedBy('a')]).toEqual([true, []]);
  subscriptions.settle('x://1', true);
  subscriptions.begin('x://1', 'a');
  subscriptions.settle('x://1', false);
  expect(subscriptions.acceptedBy('a')).toEqual(['x://1']);
  subscriptions.begin('x://2', 'b');
  subscriptions.settle('x://2', false);
  expect([subscriptions.has('x://2'), [...subscriptions.backends()]]).toEqual([false, ['a']]);
  subscriptions.deleteOf('a');
  expect([subscriptions.size, budget.used]).toEqual([0, 0]);
});

it('finds the subscribed URI of an update by its backend and the URI there', () => {
  const budget = new ByteBudget({ perPrincipal: 10_000, total: 10_000 });
  const subscriptions = new Subscriptions(budget.open('ann'));
  subscriptions.begin('x://1', 'a');
  subscriptions.begin('skill://a/n', 'a', 'skill://n');
  subscriptions.begin('skill://b/n', 'b', 'skill://n');
  expect(['a', 'b', 'c'].map((backend) => subscriptions.uriOf(backend, 'skill://n'))).toEqual([
    'skill://a/n',
    'skill://b/n',
    undefined,
  ]);
  expect(['a', 'b'].map((backend) => subscriptions.uriOf(backend, 'x://1'))).toEqual(['x://1', undefined]);
  expect(subscriptions.uriOf('a', 'skill://a/n')).toBeUndefined();
  subscriptions.settle('skill://a/n', true);
  expect(subscriptions.acceptedBy('a')).toEqual(['skill://n']);
  subscriptions.delete('skill://a/n');
  expect([subscriptions.uriOf('a', 'skill://n'), subscriptions.uriOf('b', 'skill://n')]).toEqual([
    undefined,
    'skill://b/n',
  ]);
  subscriptions.clear();
  expect([subscriptions.uriOf('b', 'skill://n'), budget.used]).toEqual([undefined, 0]);
});
