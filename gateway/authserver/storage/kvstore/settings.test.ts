import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { KvstoreConfig } from '../../../contract/run-config/auth-server-storage.ts';
import { kvstoreFaults, kvstoreSettings } from './settings.ts';

const defaults = {
  env: (name: string) => ({ REDIS_PASSWORD: 'from the environment', REDIS_USER: 'gateway', EMPTY: '' })[name],
  keyPrefix: 'vmcp:auth:{default:tour}:',
};
const settings = (config: KvstoreConfig) => kvstoreSettings(config, defaults);
const sentinel_config = { master_name: 'sessions', sentinel_addrs: ['one', 'two:26380'] };

it('reads a complete configuration with sentinels', () => {
  const read = settings({
    auth_type: 'aclUser',
    acl_user_config: { username_env_var: 'REDIS_USER', password_env_var: 'REDIS_PASSWORD' },
    dial_timeout: '1s',
    read_timeout: '250ms',
    write_timeout: '1m',
    key_prefix: 'own:{prefix}:',
    sentinel_config: { ...sentinel_config, db: 4 },
    sentinel_tls: { insecure_skip_verify: true },
    tls: { ca_cert_file: '/ca.crt' },
  });
  expect(read).toEqual({
    servers: {
      kind: 'sentinel',
      masterName: 'sessions',
      addresses: [
        { host: 'one', port: 26_379 },
        { host: 'two', port: 26_380 },
      ],
      tls: { insecureSkipVerify: true },
    },
    db: 4,
    keyPrefix: 'own:{prefix}:',
    credentials: expect.any(Function),
    tls: { caFile: '/ca.crt' },
    connectTimeoutMs: 1_000,
    replyTimeoutMs: 60_000,
  });
  expect(read.credentials?.()).toEqual({ username: 'gateway', password: 'from the environment' });
});

it('uses defaults: port 6379, 5 s to connect, 3 s to answer, no TLS, no user', () => {
  expect(settings({ addr: 'redis' })).toEqual({
    servers: { kind: 'single', address: { host: 'redis', port: 6379 } },
    db: 0,
    keyPrefix: defaults.keyPrefix,
    connectTimeoutMs: 5_000,
    replyTimeoutMs: 3_000,
  });
  expect(settings({ addr: 'redis:7000', cluster_mode: true }).servers).toEqual({
    kind: 'cluster',
    addresses: [{ host: 'redis', port: 7000 }],
  });
});

it('reads credential files for each connection, without their trailing line break', async () => {
  const path = await mkdtemp(join(tmpdir(), 'vmcp-credentials-'));
  onTestFinished(() => rm(path, { recursive: true }));
  const [user, password] = [join(path, 'user'), join(path, 'password')];
  const read = settings({ addr: 'redis', acl_user_config: { username_file: user, password_file: password } });
  expect(() => read.credentials?.()).toThrow('cannot be read (ENOENT)');
  await writeFile(user, 'gateway\n');
  await writeFile(password, 'from a file\n');
  expect(read.credentials?.()).toEqual({ username: 'gateway', password: 'from a file' });
});

describe('rejects', () => {
  it.each<[string, KvstoreConfig, string]>([
    ['no server', {}, 'addr: set addr or sentinel_config, not both'],
    ['both addr and sentinels', { addr: 'redis', sentinel_config }, 'addr: set addr or sentinel_config, not both'],
    ['a cluster with sentinels', { cluster_mode: true, sentinel_config }, 'cluster_mode: a cluster has no sentinels'],
    ['sentinels without a master name', { sentinel_config: { sentinel_addrs: ['one'] } }, 'master_name: set the name'],
    [
      'a master name without sentinels',
      { sentinel_config: { master_name: 'm' } },
      'sentinel_addrs: list the sentinels',
    ],
    ['an invalid address', { addr: 'http://redis' }, 'addr: "http://redis" is not an address'],
    ['another kind of authentication', { addr: 'redis', auth_type: 'none' }, 'auth_type: must be aclUser'],
    [
      'a prefix without a hash tag',
      { addr: 'redis', key_prefix: 'vmcp:' },
      'key_prefix: must contain exactly one hash tag',
    ],
    ['a zero timeout', { addr: 'redis', read_timeout: '0s' }, 'read_timeout: must be 1ms or more'],
    [
      'a user without a password',
      { addr: 'redis', acl_user_config: { username_env_var: 'U' } },
      'acl_user_config: a user has a password',
    ],
    [
      'two passwords',
      { addr: 'redis', acl_user_config: { password_env_var: 'REDIS_PASSWORD', password_file: '/p' } },
      'set password_file or password_env_var, not both',
    ],
  ])('%s', (_, config, message) => {
    expect(() => settings(config)).toThrow(`storage.kvstore_config.`);
    expect(() => settings(config)).toThrow(message);
  });

  it('all unusable members at once', () => {
    const config = {
      cluster_mode: true,
      sentinel_config: { sentinel_addrs: ['one', 'redis://two', '[::1'] },
      key_prefix: 'vmcp:',
      auth_type: 'none',
      acl_user_config: { username_env_var: 'U', username_file: '/u' },
      dial_timeout: '0s',
      write_timeout: '0.5ms',
    };
    expect(kvstoreFaults(config).map(({ member }) => member)).toEqual([
      'cluster_mode',
      'sentinel_config.master_name',
      'sentinel_config.sentinel_addrs',
      'sentinel_config.sentinel_addrs',
      'key_prefix',
      'auth_type',
      'acl_user_config.username_file',
      'acl_user_config',
      'dial_timeout',
      'write_timeout',
    ]);
  });

  it.each(['MISSING', 'EMPTY'])('a password variable that is not set or empty: %s', (variable) => {
    const read = settings({ addr: 'redis', acl_user_config: { password_env_var: variable } });
    expect(() => read.credentials?.()).toThrow(`names ${variable}, which is not set`);
  });
});
