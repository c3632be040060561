import { expect, it } from 'vitest';
import { commandName, type Installation } from './own-command.ts';

const CLONE: Installation = {
  root: '/home/me/vmcp',
  cwd: '/home/me/vmcp',
  env: {},
  onPath: undefined,
  npxPackages: [],
  launcher: '/home/me/vmcp/bin/vmcp',
};

it.each<[string, Partial<Installation>, string]>([
  ['in a clone', {}, 'bin/vmcp'],
  ['in bin of a clone', { cwd: '/home/me/vmcp/bin' }, './vmcp'],
  ['outside a clone', { cwd: '/home/me/work' }, '/home/me/vmcp/bin/vmcp'],
  ['with a space in the path', { cwd: '/', launcher: '/my files/bin/vmcp', root: '/my files' }, "'my files/bin/vmcp'"],
  ['linked into a folder of PATH', { onPath: '/home/me/vmcp/bin/vmcp' }, 'vmcp'],
  ['beside another vmcp on PATH', { onPath: '/usr/lib/other/vmcp' }, 'bin/vmcp'],
  ['beside a clone with a longer name on PATH', { onPath: '/home/me/vmcp-2/bin/vmcp' }, 'bin/vmcp'],
  ['in an image without a launcher', { root: '/app', launcher: undefined }, 'vmcp'],
  ['by npx in a clone', { env: { npm_command: 'exec' }, onPath: '/home/me/vmcp/bin/vmcp' }, 'npx vmcp'],
  ['by make or npm run', { env: { npm_command: 'run-script' } }, 'bin/vmcp'],
  [
    'by npx with a tarball',
    { env: { npm_command: 'exec' }, npxPackages: ['./vmcp-0.1.0.tgz'] },
    'npx ./vmcp-0.1.0.tgz',
  ],
  ['by npx with a version', { npxPackages: ['@acme/vmcp@0.1.0', 'other'] }, 'npx @acme/vmcp@0.1.0'],
])('%s', (_case, change, command) => {
  expect(commandName({ ...CLONE, ...change })).toBe(command);
});
