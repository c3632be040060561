import { Value } from 'typebox/value';
import { describe, expect, it } from 'vitest';
import { SCHEMA_VERSION, type RunConfig } from '../../contract/run-config/run-config.ts';
import { runConfigOf } from './run-config-of.ts';
import { detailsOf, WorkloadDetails } from './details.ts';

const details = (config: Partial<RunConfig>): WorkloadDetails =>
  detailsOf({ schema_version: SCHEMA_VERSION, ...config });

describe('details of a workload', () => {
  it('have every required member without a value, too', () => {
    const members = details({ name: 'a' });
    expect(members).toEqual({
      ...{ name: 'a', image: '', host: '', transport: '', proxy_mode: '', proxy_port: 0, target_port: 0 },
      ...{ cmd_arguments: [], env_vars: {}, secrets: [], volumes: [], tools: [], tools_override: {} },
      ...{ network_isolation: false, trust_proxy_headers: false, permission_profile: null, authz_config: '' },
      oidc: {
        ...{ issuer: '', audience: '', jwks_url: '', introspection_url: '', client_id: '', client_secret: '' },
        scopes: [],
      },
      oauth_config: {},
    });
    expect(Value.Check(WorkloadDetails, members)).toBe(true);
  });

  it('name secrets by reference, and have no secret value', () => {
    const {
      secrets,
      oidc,
      oauth_config: login,
    } = details({
      secrets: ['github-token,target=GITHUB_TOKEN', 'ghp_a_value'],
      oidc_config: { issuer: 'https://issuer.example', clientSecret: 'a-value' },
      remote_auth_config: { client_secret: 'crm,target=CLIENT_SECRET', bearer_token: 'a-value', client_id: 'vmcp' },
    });
    expect(secrets).toEqual([{ name: 'github-token', target: 'GITHUB_TOKEN' }]);
    expect(oidc).toMatchObject({ issuer: 'https://issuer.example', client_secret: '' });
    expect(login).toEqual({ client_id: 'vmcp', client_secret: { name: 'crm', target: 'CLIENT_SECRET' } });
  });

  it('have the login of a remote server without its cached tokens', () => {
    const members = details({
      remote_url: 'https://mcp.example/mcp',
      remote_auth_config: {
        ...{ issuer: 'https://issuer.example', scopes: ['read'], use_pkce: true, callback_port: 8666 },
        ...{ cached_refresh_token_ref: 'workload-a-refresh', timeout: '30s', headers: [{ name: 'X-Tenant' }] },
      },
    });
    expect(members).toMatchObject({ url: 'https://mcp.example/mcp', headers: [{ name: 'X-Tenant' }] });
    expect(members.oauth_config).toEqual({
      ...{ issuer: 'https://issuer.example', scopes: ['read'], use_pkce: true, callback_port: 8666 },
    });
  });

  it.each<Partial<RunConfig>>([
    {
      image: 'npx://server',
      transport: 'stdio',
      proxy_mode: 'sse',
      secrets: ['github,target=TOKEN'],
      cmd_args: ['-v'],
    },
    { image: 'server:1', isolate_network: true, permission_profile: { name: 'none' }, volumes: ['/a:/a'], port: 4000 },
    { image: 'server:1', oidc_config: { issuer: 'https://issuer.example', clientSecret: 'a', allowPrivateIP: true } },
    {
      remote_url: 'https://mcp.example',
      header_forward: { add_plaintext_headers: { 'X-A': 'b' } },
      tools_filter: ['a'],
    },
    {
      remote_url: 'https://mcp.example',
      remote_auth_config: {
        issuer: 'https://issuer.example',
        client_secret: 'crm,target=SECRET',
        headers: [{ name: 'A' }],
      },
      tools_override: { echo: { name: 'repeat' } },
    },
  ])('stay the same after an edit with them: %j', (config) => {
    const stored = runConfigOf('a', {}, { schema_version: SCHEMA_VERSION, ...config });
    const { permission_profile: profile, ...settings } = detailsOf(stored);
    const edited = runConfigOf('a', { ...settings, ...(profile && { permission_profile: profile }) }, stored);
    expect(detailsOf(edited)).toEqual(detailsOf(stored));
    expect(edited.oidc_config).toEqual(stored.oidc_config);
    expect(edited.remote_auth_config).toEqual(stored.remote_auth_config);
  });
});
