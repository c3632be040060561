import { expect, it } from 'vitest';
import { orphans, requiredBy } from './orphans.ts';

const skill = (name: string, needs: readonly string[], explicit = false) => ({
  metadata: { name },
  dependencies: needs.map((need) => ({ name: need })),
  explicit,
});
const names = (skills: readonly { readonly metadata: { readonly name: string } }[]): string[] =>
  skills.map(({ metadata }) => metadata.name);

it('are found along a chain, parents first', () => {
  expect(names(orphans([skill('fonts', []), skill('ocr', ['fonts']), skill('pdf', [], true)]))).toEqual([
    'ocr',
    'fonts',
  ]);
});

it('are not the skills that others need or that were asked for', () => {
  const all = [skill('pdf', ['fonts'], true), skill('fonts', []), skill('ocr', ['fonts'], true)];
  expect(orphans(all)).toEqual([]);
  expect(requiredBy('fonts', all)).toEqual(['ocr', 'pdf']);
  expect(names(orphans(all.slice(1)))).toEqual([]);
  expect(names(orphans([skill('fonts', [])]))).toEqual(['fonts']);
});
