import { expect, it } from 'vitest';
import { ANONYMOUS } from '../../contract/identity.ts';
import { ByteBudget } from './byte-budget.ts';

const budget = (): ByteBudget => new ByteBudget({ perPrincipal: 40, total: 100 });

it('limits the bytes of one principal and leaves the rest to others', () => {
  const bytes = budget();
  const alice = bytes.open('alice');
  expect(alice.resize(40)).toBe(true);
  expect(bytes.open('alice').resize(1)).toBe(false);
  expect(alice.resize(41)).toBe(false);
  expect(alice.bytes).toBe(40);
  expect(bytes.open('bob').resize(40)).toBe(true);
  expect(bytes.open('carol').resize(21)).toBe(false);
  expect(bytes.open('carol').resize(20)).toBe(true);
});

it('allows anonymous clients the whole budget', () => {
  const bytes = budget();
  expect(bytes.open(ANONYMOUS).resize(100)).toBe(true);
  expect(bytes.open('alice').resize(1)).toBe(false);
});

it('frees the bytes when the last holder releases them', () => {
  const bytes = budget();
  const held = bytes.open('alice');
  held.resize(30);
  held.retain();
  held.release();
  expect(bytes.used).toBe(30);
  held.release();
  expect([bytes.used, bytes.usedBy('alice')]).toEqual([0, 0]);
});

it('shrinks a share even when the budget is exceeded', () => {
  const bytes = budget();
  const [anonymous, other] = [bytes.open(ANONYMOUS), bytes.open(ANONYMOUS)];
  anonymous.resize(90);
  other.resize(10);
  expect(anonymous.resize(50)).toBe(true);
  expect(other.resize(50)).toBe(true);
});
