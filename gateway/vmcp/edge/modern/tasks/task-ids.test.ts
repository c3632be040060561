import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { TaskIds } from './task-ids.ts';

const newIds = (secret = randomBytes(32)): TaskIds => {
  const secrets = [secret];
  return new TaskIds(() => secrets);
};
const origin = { backend: 'one', tool: 'one_slow', taskId: 'task-1' };

it('opens an id for its owner, and hides what it holds', () => {
  const ids = newIds();
  const sealed = ids.seal(origin, 'ann') ?? '';
  expect(Buffer.from(sealed, 'base64url').toString('latin1')).not.toContain('task-1');
  expect(sealed).toMatch(/^[\w-]+$/u);
  expect(ids.open(sealed, 'ann')).toEqual(origin);
});

it('seals equal tasks to equal ids, and others to other ids', () => {
  const ids = newIds();
  const sealed = ids.seal(origin, 'ann');
  expect(ids.seal({ ...origin }, 'ann')).toBe(sealed);
  const others = [
    ids.seal(origin, 'eve'),
    ids.seal({ ...origin, backend: 'two' }, 'ann'),
    ids.seal({ ...origin, tool: 'two_slow' }, 'ann'),
    ids.seal({ ...origin, taskId: 'task-2' }, 'ann'),
  ];
  expect(new Set([sealed, ...others]).size).toBe(5);
});

it('opens an id in every process with the same key, and in no other', () => {
  const key = randomBytes(32);
  const sealed = newIds(key).seal(origin, 'ann') ?? '';
  expect(newIds(key).open(sealed, 'ann')).toEqual(origin);
  expect(newIds().open(sealed, 'ann')).toBeUndefined();
});

it.each([
  ['of another user', (sealed: string) => [sealed, 'eve']],
  ['with a suffix', (sealed: string) => [`${sealed}A`, 'ann']],
  [
    'with another first character',
    (sealed: string) => [`${sealed.startsWith('A') ? 'B' : 'A'}${sealed.slice(1)}`, 'ann'],
  ],
  ['that is no Base64', () => ['!', 'ann']],
  ['that is empty', () => ['', 'ann']],
  ['of a backend', () => ['task-1', 'ann']],
])('refuses an id %s', (_, change) => {
  const ids = newIds();
  const [sealed = '', principal = ''] = change(ids.seal(origin, 'ann') ?? '');
  expect(ids.open(sealed, principal)).toBeUndefined();
});

it('refuses to seal an id that fits into no header', () => {
  const ids = newIds();
  expect(ids.seal({ ...origin, taskId: 'x'.repeat(2_000) }, 'ann')).toBeDefined();
  expect(ids.seal({ ...origin, taskId: 'é'.repeat(1_100) }, 'ann')).toBeUndefined();
});
