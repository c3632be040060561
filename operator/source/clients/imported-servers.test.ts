import { expect, it } from 'vitest';
import { importedServers } from './imported-servers.ts';

const value = { command: 'npx', args: ['x'] };
const namesOf = (...names: readonly string[]) =>
  importedServers(names.map((name) => ({ name, value }))).servers.map(({ name }) => name);

it.each([
  ['My Server_1', 'my-server-1'],
  ['Größe & Café', 'gro-e-cafe'],
  ['-_-', 'server'],
  ['', 'server'],
  ['日本', 'server'],
  ['a'.repeat(60), 'a'.repeat(48)],
  [`${'a'.repeat(47)} b`, 'a'.repeat(47)],
])('"%s" becomes %s', (original, name) => {
  expect(namesOf(original)).toEqual([name]);
});

it('makes names unique and keeps those that are labels', () => {
  expect(namesOf('My Server', 'my_server', 'my-server', 'MY-SERVER')).toEqual([
    'my-server-2',
    'my-server-3',
    'my-server',
    'my-server-4',
  ]);
  const long = 'a'.repeat(60);
  expect(namesOf(long, `${long}b`)).toEqual(['a'.repeat(48), `${'a'.repeat(46)}-2`]);
});

it('lists what it leaves out', () => {
  const { servers, leftOut } = importedServers([
    { name: 'Off', value: { ...value, disabled: true } },
    { name: 'off', value },
  ]);
  expect(servers.map(({ name, original }) => ({ name, original }))).toEqual([{ name: 'off', original: 'off' }]);
  expect(leftOut).toEqual([{ original: 'Off', reason: 'it is disabled' }]);
});
