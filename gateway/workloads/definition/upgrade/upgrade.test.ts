import { describe, expect, it } from 'vitest';
import type { RunConfig } from '../../../contract/run-config/run-config.ts';
import type { RegistryEntry } from '../entry/registry-entry.ts';
import { missingVariables, upgradeCheckOf, upgradeSettings, upgradeToConfirm } from './upgrade.ts';

const config = (members: Partial<RunConfig> = {}): RunConfig => ({
  schema_version: 'v0.1.0',
  name: 'time',
  image: 'example.org/time:1',
  transport: 'stdio',
  registry_server_name: 'com.example/time',
  ...members,
});
const entry = (members: Partial<RegistryEntry> = {}): RegistryEntry => ({
  name: 'com.example/time',
  image: 'example.org/time:2',
  transport: 'stdio',
  ...members,
});
const VARIABLES = [
  { name: 'ZONE', description: 'Time zone.', required: true, default: 'UTC' },
  { name: 'KEY', description: 'Key of the service.', required: true, secret: true },
  { name: 'LEVEL', description: 'Log level.', required: false },
];

describe('upgradeCheckOf', () => {
  it('reports another image in the registry', () => {
    expect(upgradeCheckOf(config(), entry())).toEqual({
      workload_name: 'time',
      registry_server: 'com.example/time',
      status: 'upgrade-available',
      current_image: 'example.org/time:1',
      candidate_image: 'example.org/time:2',
    });
  });

  it('reports the same image, also when other settings differ', () => {
    const { status, config_drift: drift } = upgradeCheckOf(
      config({ image: 'example.org/time:2' }),
      entry({ transport: 'sse', target_port: 3000 }),
    );
    expect(status).toBe('up-to-date');
    expect(drift).toEqual([
      { setting: 'transport', current: 'stdio', candidate: 'sse' },
      { setting: 'target_port', current: '0', candidate: '3000' },
    ]);
  });

  it('compares the URLs of remote servers', () => {
    const { image: _image, ...remote } = config({ remote_url: 'https://a.example/mcp', transport: 'sse' });
    const { image: _other, ...now } = entry({ url: 'https://b.example/mcp', transport: 'sse' });
    expect(upgradeCheckOf(remote, now)).toEqual({
      ...{ workload_name: 'time', registry_server: 'com.example/time', status: 'upgrade-available' },
      config_drift: [{ setting: 'url', current: 'https://a.example/mcp', candidate: 'https://b.example/mcp' }],
    });
    expect(upgradeCheckOf({ ...remote, remote_url: 'https://b.example/mcp' }, now).status).toBe('up-to-date');
  });

  it('lists the variables of the entry that the workload lacks', () => {
    const present = config({ env_vars: { LEVEL: '' }, secrets: ['key,target=KEY'] });
    const { env_var_drift: drift } = upgradeCheckOf(present, entry({ env_vars: VARIABLES }));
    expect(drift).toEqual([{ name: 'ZONE', description: 'Time zone.', required: true }]);
    expect(upgradeCheckOf(config(), entry({ env_vars: VARIABLES })).env_var_drift?.[1]).toEqual({
      ...{ name: 'KEY', description: 'Key of the service.', required: true, secret: true },
    });
  });

  it.each([
    ['not-registry-sourced', config({ registry_server_name: '' }), entry()],
    ['server-not-found', config(), undefined],
    ['unknown', config(), entry({ url: 'https://a.example/mcp', image: undefined as never })],
    ['unknown', config(), entry({ image: 'npx://time' })],
    ['unknown', config({ image: 'npx://time' }), entry({ image: 'command://sh' })],
  ])('has the status %s and a reason', (status, given, found) => {
    const { reason = '', ...check } = upgradeCheckOf(given, found);
    expect([check.status, reason.length > 20, check.candidate_image]).toEqual([status, true, undefined]);
  });
});

describe('upgradeSettings', () => {
  it('changes the image only, without new variables', () => {
    expect(upgradeSettings(config({ env_vars: { A: 'b' } }), entry(), {})).toEqual({ image: 'example.org/time:2' });
  });

  it('adds defaults of new variables, and what the request gives', () => {
    const present = config({ env_vars: { OWN: 'a', LEVEL: 'debug' }, secrets: ['old,target=KEY', 'b,target=B'] });
    const request = { env: { LEVEL: 'info' }, secrets: [{ name: 'new', target: 'KEY' }] };
    expect(upgradeSettings(present, entry({ env_vars: VARIABLES }), request)).toEqual({
      image: 'example.org/time:2',
      env_vars: { ZONE: 'UTC', OWN: 'a', LEVEL: 'info' },
      secrets: [
        { name: 'b', target: 'B' },
        { name: 'new', target: 'KEY' },
      ],
    });
  });

  it('changes the URL of a remote server', () => {
    const { image: _image, ...now } = entry({ url: 'https://b.example/mcp' });
    expect(upgradeSettings(config({ remote_url: 'https://a.example/mcp' }), now, {})).toEqual({
      url: 'https://b.example/mcp',
    });
  });
});

describe('row 103: upgradeToConfirm', () => {
  const profile = { write: ['/data'] };
  const wide = entry({ permissions: profile, env_vars: [{ name: 'NODE_OPTIONS', default: '--x' }, ...VARIABLES] });

  it('lists the access and the variables that the workload has not, with those of the request', () => {
    expect(upgradeToConfirm(config(), wide, { env: { KEY: 'k' } })).toEqual({
      paths: ['permission_profile.write', 'env.NODE_OPTIONS'],
      settings: { permission_profile: profile, env: { KEY: 'k', NODE_OPTIONS: '--x' } },
    });
    expect(upgradeCheckOf(config(), wide).confirm).toEqual({
      permission_profile: profile,
      env: { NODE_OPTIONS: '--x' },
    });
  });

  it.each<[string, Partial<RunConfig>, object]>([
    ['the request sets', {}, { permission_profile: {}, env: { NODE_OPTIONS: '' } }],
    ['the workload has', { permission_profile: profile, env_vars: { NODE_OPTIONS: '' } }, {}],
    ['a secret sets', { permission_profile: profile, secrets: ['a,target=NODE_OPTIONS'] }, {}],
  ])('lists nothing that %s', (_who, present, request) => {
    expect(upgradeToConfirm(config(present), wide, request)).toBeUndefined();
    expect(upgradeSettings(config(present), wide, request).permission_profile).toEqual(
      'permission_profile' in request ? {} : undefined,
    );
  });

  it('lists the URL of another server that would get a credential of the user', () => {
    const present = {
      image: '',
      remote_url: 'https://a.example/mcp',
      header_forward: { add_plaintext_headers: { A: 'b' } },
    };
    const { image: _image, ...moved } = entry({ url: 'https://b.example/mcp' });
    const expected = { paths: ['url'], settings: { url: 'https://b.example/mcp' } };
    expect(upgradeToConfirm(config(present), moved, {})).toEqual(expected);
    const bearer = {
      ...present,
      header_forward: undefined as never,
      remote_auth_config: { bearer_token: 'a,target=b' },
    };
    expect(upgradeToConfirm(config(bearer), moved, {})).toEqual(expected);
    expect(upgradeToConfirm(config(present), moved, { url: 'https://b.example/mcp' })).toBeUndefined();
    expect(upgradeToConfirm(config(present), { ...moved, url: 'https://a.example/v2' }, {})).toBeUndefined();
    expect(upgradeToConfirm(config({ image: '', remote_url: present.remote_url }), moved, {})).toBeUndefined();
  });

  it('compares with the built-in profile of the workload', () => {
    const some = entry({ permissions: { network: { outbound: { allow_host: ['a'] } } } });
    expect(upgradeToConfirm(config(), some, {})).toBeUndefined();
    const none = config({ permission_profile_name_or_path: 'none' });
    expect(upgradeToConfirm(none, some, {})?.paths[0]).toBe('permission_profile.network.outbound.allow_host');
    expect(upgradeToConfirm(none, entry(), {})).toBeUndefined();
  });
});

it('lists required variables that have no value', () => {
  const found = entry({ env_vars: VARIABLES });
  expect(missingVariables(config(), found, {})).toEqual(['KEY']);
  expect(missingVariables(config({ secrets: ['key,target=KEY'] }), found, {})).toEqual([]);
  expect(missingVariables(config(), found, { env: { KEY: 'x' } })).toEqual([]);
  expect(missingVariables(config(), found, { secrets: [{ name: 'key', target: 'KEY' }] })).toEqual([]);
});
