import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { CLIENTS } from './clients.ts';
import { shownFileOf } from './config-file.ts';

const page = readFileSync(join(import.meta.dirname, '..', '..', '..', 'docs', 'local-mode.md'), 'utf8');
const ROW = /^\| ([^|]+?) +\| `([^`]+)` +\| `(~\/[^`]+)` +\|$/gmu;

it('local-mode.md lists the clients of vmcp connect with their files', () => {
  const rows = [...page.matchAll(ROW)].map(([, name, type, file]) => ({ name, type, file }));
  const clients = CLIENTS.map((client) => ({ name: client.name, type: client.type, file: shownFileOf(client) }));
  const byName = (one: { name?: string }, other: { name?: string }) =>
    (one.name ?? '').toLowerCase() < (other.name ?? '').toLowerCase() ? -1 : 1;
  expect(rows).toEqual(clients.toSorted(byName));
});
