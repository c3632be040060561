import { expect, it } from 'vitest';
import { ANONYMOUS } from '../../contract/identity.ts';
import { ByteBudget } from './byte-budget.ts';

const budget = (): ByteBudget => new ByteBudget({ perPrincipal: 40, total: 100 });

it('refuses what one principal cannot hold, and leaves others their part', () => {
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

it('gives anonymous clients the whole', () => {
  const bytes = budget();
  expect(bytes.open(ANONYMOUS).resize(100)).toBe(true);
  expect(bytes.open('alice').resize(1)).toBe(false);
});

it('gives the bytes back when the last holder releases them', () => {
  const bytes = budget();
  const held = bytes.open('alice');
  held.resize(30);
  held.retain();
  held.release();
  expect(bytes.used).toBe(30);
  held.release();
  expect([bytes.used, bytes.usedBy('alice')]).toEqual([0, 0]);
});

it('shrinks even when the budget is used up', () => {
  const bytes = budget();
  const [anonymous, other] = [bytes.open(ANONYMOUS), bytes.open(ANONYMOUS)];
  anonymous.resize(90);
  other.resize(10);
  expect(anonymous.resize(50)).toBe(true);
  expect(other.resize(50)).toBe(true);
});
