import { expect, it } from 'vitest';
import { cut, renderTable } from './table.ts';

it('aligns columns and leaves no space at the end of a line', () => {
  const rows = [
    ['NAME', 'STATE', 'REASON'],
    ['files', 'healthy', ''],
    ['a-long-name', 'unhealthy', 'it is gone'],
  ];
  expect(renderTable(rows)).toEqual([
    'NAME         STATE      REASON',
    'files        healthy',
    'a-long-name  unhealthy  it is gone',
  ]);
});

it('row 106: shows no invisible characters', () => {
  expect(
    renderTable([
      ['A', 'B'],
      ['x\u202Ey', 'a\nb\u009B'],
    ]),
  ).toEqual(['A    B', 'x\uFFFDy  a\uFFFDb\uFFFD']);
});

it.each([
  ['short', 5, 'short'],
  ['longer', 5, 'lo...'],
  ['a word', 5, 'a...'],
  ['😀😀😀', 6, '😀😀😀'],
  ['😀😀😀😀', 6, '😀...'],
  ['text', 0, '...'],
])('shortens "%s" to %i characters', (text, width, expected) => {
  expect(cut(text, width)).toBe(expected);
});
