import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { UNBUILT_FIELDS } from './controls.ts';

it('rejects the fields that the table of docs/security.md lists, and no others', () => {
  const text = readFileSync(new URL('../../../docs/security.md', import.meta.url), 'utf8');
  const table = text.slice(text.indexOf('| Missing'), text.indexOf('A gateway whose resources'));
  const fields = table.split('\n').map((row) => row.split('|')[2] ?? '');
  // the last member: the table omits the beginning of a path, and what stands in for a field
  const listed = fields.flatMap((cell) => [...cell.matchAll(/`(?:[\w[\]]+\.)*(\w+)`/gu)].map(([, name = '']) => name));
  const rejected = UNBUILT_FIELDS.map(({ pattern }) => pattern.split('.').at(-1) ?? '');
  const others = ['NotSupportedYet', 'network', 'memory'];
  expect(new Set(listed.filter((name) => !others.includes(name)))).toEqual(new Set(rejected));
});
