import { expect, it } from 'vitest';
import { takenFrom, withEntry, type RegistryEntry } from './registry-entry.ts';
import type { WorkloadSettings } from '../settings.ts';

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

it('names the settings that it takes from the entry, without those of the request', () => {
  expect(takenFrom({ transport: 'stdio', env_vars: { OWN: '1' } }, entry)).toEqual({
    ...{ image: 'a:1', target_port: 80, cmd_arguments: ['-v'], env_vars: { LEVEL: 'info' } },
  });
  expect(takenFrom({ env_vars: { LEVEL: '' } }, entry)).not.toHaveProperty('env_vars');
});

it('row 102: takes no member that the settings of an entry do not have', () => {
  const reference = { name: 'github-token', target: 'bearer_token' };
  const login = { issuer: 'https://i', bearer_token: reference, client_secret: reference, skip_browser: true };
  const files = { bearer_token_file: '/home/me/.ssh/id', client_secret_file: '/a', cached_refresh_token_ref: 'a' };
  const given = {
    ...{ name: 'r', url: 'https://r.example', oauth_config: { ...login, ...files } },
    ...{ permissions: { read: ['/a'], other: true }, headers: [{ name: 'X-A', other: 1 }] },
  };
  expect(takenFrom({}, given)).toEqual({
    ...{ url: 'https://r.example', oauth_config: { issuer: 'https://i' } },
    ...{ permission_profile: { read: ['/a'] }, headers: [{ name: 'X-A' }] },
  });
  expect(given.oauth_config).toHaveProperty('bearer_token_file');
});
