import { describe, expect, it } from 'vitest';
import { SCHEMA_VERSION, type RunConfig } from '../../contract/run-config/run-config.ts';
import { readReference, runConfigOf, withIsolation } from './run-config-of.ts';
import type { WorkloadSettings } from './settings.ts';

const stored = (members: Partial<RunConfig>): RunConfig =>
  runConfigOf('a', {}, { schema_version: SCHEMA_VERSION, image: 'server:1', ...members });

const oidc = { issuer: 'https://i', clientID: 'vmcp', clientSecret: 'kept', allowPrivateIP: true };
const login = { issuer: 'https://i', client_id: 'vmcp', cached_refresh_token_ref: 'refresh', timeout: '30s' };
const headers = [{ name: 'X-Tenant' }];

describe('run configuration of a new workload', () => {
  it.each<[string, WorkloadSettings, Partial<RunConfig>]>([
    ['a package', { image: 'npx://s' }, { transport: 'stdio', proxy_mode: 'streamable-http' }],
    ['an image', { image: 's:1' }, { transport: 'stdio', isolate_network: true }],
    ['a remote server', { url: 'https://r' }, { transport: 'streamable-http', remote_url: 'https://r' }],
    [
      'words in capitals',
      { image: 's:1', transport: 'STDIO', proxy_mode: 'SSE' },
      { transport: 'stdio', proxy_mode: 'sse' },
    ],
    ['words in mixed case', { image: 's:1', transport: 'Stdio' }, { transport: 'Stdio' }],
    ['an unknown mode', { image: 's:1', proxy_mode: 'udp' }, { proxy_mode: 'udp' }],
    ['an HTTP server', { image: 's:1', transport: 'sse', proxy_mode: 'streamable-http' }, { proxy_mode: 'sse' }],
    ['no isolation', { image: 's:1', network_isolation: false }, { isolate_network: false }],
  ])('has the defaults of %s', (_, settings, expected) => {
    const config = runConfigOf('a', settings);
    expect(config).toMatchObject({ name: 'a', base_name: 'a', host: '127.0.0.1', group: 'default', ...expected });
    if (!('isolate_network' in expected) && !settings.image?.includes(':1'))
      expect(config).not.toHaveProperty('isolate_network');
  });
});

describe('an edit', () => {
  it.each<[string, Partial<RunConfig>, WorkloadSettings, Partial<RunConfig>]>([
    ['keeps what is absent', { tools_filter: ['t'], port: 1, audit_config: { enabled: true } }, {}, {}],
    ['keeps the port for 0', { port: 4000 }, { proxy_port: 0 }, {}],
    ['replaces the port', { port: 4000 }, { proxy_port: 4001 }, { port: 4001 }],
    ['adds variables as a whole', { env_vars: { A: '1' } }, { env_vars: { B: '2' } }, { env_vars: { B: '2' } }],
    [
      'replaces secrets',
      { secrets: ['a,target=A'] },
      { secrets: [{ name: 'b', target: 'B' }] },
      { secrets: ['b,target=B'] },
    ],
    ['keeps secrets', { secrets: ['a,target=A'] }, { tools: ['t'] }, { tools_filter: ['t'] }],
    ['keeps a false flag as one', { isolate_network: true }, { network_isolation: false }, { isolate_network: false }],
    ['keeps an empty value in a map', {}, { env_vars: { A: '' } }, { env_vars: { A: '' } }],
    ['keeps the group without one', { group: 'work' }, { group: '' }, { group: 'default' }],
    ['keeps the transport for ""', { transport: 'sse' }, { transport: '' }, {}],
    ['keeps the path of a policy for ""', { authz_config_path: '/p' }, { authz_config: '' }, {}],
    ['keeps an absent flag for false', {}, { trust_proxy_headers: false }, {}],
  ])('%s', (_, before, settings, changes) => {
    const config = stored(before);
    expect(runConfigOf('a', settings, config)).toEqual({ ...config, ...changes });
  });

  it.each<[keyof RunConfig, Partial<RunConfig>, WorkloadSettings]>([
    ['tools_filter', { tools_filter: ['t'] }, { tools: [] }],
    ['tools_override', { tools_override: { t: { name: 'u' } } }, { tools_override: {} }],
    ['env_vars', { env_vars: { A: '1' } }, { env_vars: {} }],
    ['secrets', { secrets: ['a,target=A'] }, { secrets: [] }],
    ['volumes', { volumes: ['/a:/a'] }, { volumes: [] }],
    ['permission_profile', { permission_profile: { name: 'none' } }, { permission_profile: {} }],
    ['target_port', { target_port: 80 }, { target_port: 0 }],
    ['oidc_config', { oidc_config: oidc }, { oidc: { issuer: '', scopes: [] } }],
    ['remote_auth_config', { remote_auth_config: { issuer: 'https://i' } }, { oauth_config: {} }],
  ])('removes %s by an empty value', (member, before, settings) => {
    expect(stored(before)).toHaveProperty(member);
    expect(runConfigOf('a', settings, stored(before))).not.toHaveProperty(member);
  });

  it('replaces an image by a URL, and a URL by an image', () => {
    const remote = runConfigOf('a', { url: 'https://r', transport: 'sse' }, stored({}));
    expect(remote).toMatchObject({ remote_url: 'https://r', transport: 'sse' });
    expect(remote).not.toHaveProperty('image');
    const image = runConfigOf('a', { image: 's:2', transport: 'stdio' }, remote);
    expect(image).toMatchObject({ image: 's:2', transport: 'stdio' });
    expect(image).not.toHaveProperty('remote_url');
    expect(runConfigOf('a', { image: 's:2', url: 'https://r' })).toMatchObject({
      image: 's:2',
      remote_url: 'https://r',
    });
  });

  it('turns isolation off for a container that does not state it', () => {
    expect(runConfigOf('a', { network_isolation: false }, stored({}))).toHaveProperty('isolate_network', false);
    const remote = runConfigOf('a', { url: 'https://r' });
    const settings = { image: 's:2', transport: 'stdio', network_isolation: false };
    expect(runConfigOf('a', settings, remote)).toHaveProperty('isolate_network', false);
    expect(runConfigOf('a', { network_isolation: false }, remote)).not.toHaveProperty('isolate_network');
  });

  it.each<[string, NonNullable<WorkloadSettings['oidc']>, string | undefined]>([
    ['keeps the client secret of the same client', { issuer: 'https://i', client_id: 'vmcp' }, 'kept'],
    ['replaces it by another', { issuer: 'https://i', client_id: 'vmcp', client_secret: 'new' }, 'new'],
    ['drops it for another client', { issuer: 'https://i', client_id: 'other' }, undefined],
    ['drops it for another issuer', { issuer: 'https://j', client_id: 'vmcp' }, undefined],
    [
      'drops it for another endpoint',
      { issuer: 'https://i', client_id: 'vmcp', introspection_url: 'https://i/x' },
      undefined,
    ],
  ])('%s', (_, settings, secret) => {
    const config = runConfigOf('a', { oidc: settings }, stored({ oidc_config: oidc })).oidc_config;
    expect(config?.clientSecret).toBe(secret);
    expect(config?.allowPrivateIP).toBe(true);
  });

  it.each<[string, WorkloadSettings, RunConfig['remote_auth_config']]>([
    [
      'keeps cached tokens of the same client',
      { oauth_config: { issuer: 'https://i', client_id: 'vmcp' } },
      { ...login, headers },
    ],
    [
      'drops them for another client',
      { oauth_config: { issuer: 'https://i', client_id: 'other' } },
      { issuer: 'https://i', client_id: 'other', timeout: '30s', headers },
    ],
    ['keeps the headers without a login', { oauth_config: {} }, { timeout: '30s', headers }],
    ['replaces the headers', { headers: [{ name: 'B' }] }, { ...login, headers: [{ name: 'B' }] }],
    [
      'names secrets by reference',
      { oauth_config: { issuer: 'https://i', client_id: 'vmcp', client_secret: { name: 's', target: 'T' } } },
      { ...login, client_secret: 's,target=T', headers },
    ],
  ])('of a login %s', (_, settings, expected) => {
    const before = stored({ remote_auth_config: { ...login, headers } });
    expect(runConfigOf('a', settings, before).remote_auth_config).toEqual(expected);
  });
});

it.each([
  ['name,target=TARGET', { name: 'name', target: 'TARGET' }],
  ['a-value', undefined],
  ['a b,target=T', undefined],
  ['a,target=', undefined],
  [',target=T', undefined],
])('reads the reference %j', (text, expected) => {
  expect(readReference(text)).toEqual(expected);
});

it.each<[Partial<RunConfig>, boolean | undefined]>([
  [{ image: 'server:1' }, true],
  [{ image: 'server:1', isolate_network: false }, false],
  [{ image: 'npx://server' }, undefined],
  [{ remote_url: 'https://r' }, undefined],
])('states the isolation of %j as %s', (members, isolated) => {
  expect(withIsolation({ schema_version: SCHEMA_VERSION, ...members }).isolate_network).toBe(isolated);
});
