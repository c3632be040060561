import { expect, it } from 'vitest';
import { withEntry, type RegistryEntry } from './registry-entry.ts';
import type { WorkloadSettings } from './settings.ts';

const entry: RegistryEntry = {
  ...{ name: 'io.example/a', image: 'a:1', transport: 'sse', target_port: 80, args: ['-v'] },
  env_vars: [{ name: 'LEVEL', default: 'info' }, { name: 'TOKEN' }],
};
const defaults = {
  image: 'a:1',
  transport: 'sse',
  target_port: 80,
  cmd_arguments: ['-v'],
  env_vars: { LEVEL: 'info' },
};

it.each<[string, WorkloadSettings, RegistryEntry, WorkloadSettings]>([
  ['nothing else', {}, entry, defaults],
  [
    'settings, which win',
    { transport: 'stdio', cmd_arguments: [] },
    entry,
    { ...defaults, transport: 'stdio', cmd_arguments: [] },
  ],
  ['a short name as image', { image: 'a' }, entry, defaults],
  ['variables', { env_vars: { LEVEL: 'debug', A: '1' } }, entry, { ...defaults, env_vars: { LEVEL: 'debug', A: '1' } }],
  [
    'a remote server',
    {},
    { name: 'r', url: 'https://r.example', headers: [{ name: 'X-A' }], oauth_config: { issuer: 'https://i' } },
    { url: 'https://r.example', headers: [{ name: 'X-A' }], oauth_config: { issuer: 'https://i' }, env_vars: {} },
  ],
])('fills in an entry beside %s', (_, settings, from, expected) => {
  expect(withEntry(settings, from)).toEqual(expected);
});
