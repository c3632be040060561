import { describe, expect, it } from 'vitest';
import type { RunConfig } from '../../contract/run-config/run-config.ts';
import { runConfigProblems } from './problems.ts';
import { runConfigOf } from './run-config-of.ts';
import { WORKLOAD_NAME } from './settings.ts';

const image = runConfigOf('a', { image: 'server:1' });
const remote = runConfigOf('a', { url: 'https://mcp.example/mcp' });
const login = { oidc_config: { issuer: 'https://i.example', audience: 'vmcp' } };
const cedar = (...policies: string[]) => ({ type: 'cedarv1', version: '1.0', cedar: { policies } });
const OPEN = 'permit(principal, action, resource);';
const bucket = { maxTokens: 2, refillPeriod: '1m0s' };
const webhook = { name: 'w', url: 'https://hooks.example/w' };
const pathsOf = (config: RunConfig): string[] =>
  runConfigProblems(config).map(({ path, reason }) => (reason === 'NotSupportedYet' ? `${reason} ${path}` : path));

describe('problems of a run configuration', () => {
  it.each([
    ['an image', image],
    ['a package', { ...image, image: 'uvx://server' }],
    [
      'a package with choices',
      {
        ...image,
        image: 'uvx://a',
        package: { command: 'b', with: ['c>=1'], python: '>=3.12', install_env: { D: 'e' } },
      },
    ],
    ['a program of this machine', { ...image, image: 'command://node', working_dir: '/work' }],
    ['a remote server', remote],
    ['a target host of its URL', { ...remote, target_host: 'mcp.example' }],
    ['a target host of its URL with the port', { ...remote, target_host: 'MCP.example:443' }],
    ['a target host of this machine', { ...image, target_host: '127.0.0.1' }],
    ['the headers of a remote server', { ...remote, header_forward: { add_plaintext_headers: { 'X-A': 'b' } } }],
    ['described headers of an image', { ...image, remote_auth_config: { headers: [{ name: 'A' }] } }],
    ['a login', { ...remote, remote_auth_config: { issuer: 'https://i.example', client_secret: 's,target=T' } }],
    ['swapped names of tools', { ...image, tools_override: { a: { name: 'b' }, b: { name: 'a' } } }],
    [
      'new descriptions with empty names',
      { ...image, tools_override: { a: { name: '', description: 'A.' }, b: { name: '', description: 'B.' } } },
    ],
    ['policies', { ...image, ...login, authz_config: cedar(OPEN) }],
    ['a policy file', { ...image, ...login, authz_config_path: '/policy.yaml' }],
    ['limits of users', { ...image, ...login, rate_limit_config: { perUser: bucket }, rate_limit_namespace: 'a' }],
    ['a shared limit without users', { ...image, rate_limit_config: { shared: bucket } }],
    ['webhooks', { ...image, mutating_webhooks: [webhook], validating_webhooks: [webhook] }],
    ['telemetry', { ...image, telemetry_config: { endpoint: 'https://otel.example:4318' } }],
    [
      'policies of users of an authorization server',
      { ...image, embedded_auth_server_config: { issuer: 'https://as.example' }, authz_config: cedar(OPEN) },
    ],
    ['a prefix', { ...image, endpoint_prefix: '/servers/a' }],
    [
      'settings of builds, mounts and clusters that ask for nothing here',
      {
        ...image,
        ...{ runtime_config: { builder_image: '', additional_packages: [] }, ignore_config: { loadGlobal: true } },
        ...{ cluster_pod_template_patch: '{"spec":{}}', env_file_dir: '/env' },
        scaling_config: { backend_replicas: 3, session_kvstore: { address: '127.0.0.1:6379' } },
      },
    ],
  ])('are none for %s', (_, config) => {
    expect(pathsOf(config)).toEqual([]);
  });

  it.each<[string, RunConfig, Partial<RunConfig>]>([
    ['name', image, { name: '../a' }],
    ['image', image, { image: '' }],
    ['url', image, { remote_url: 'https://mcp.example' }],
    ['NotSupportedYet image', image, { image: 'go://server' }],
    ['package', image, { package: { command: 'b' } }],
    ['package.python', image, { image: 'npx://a', package: { python: '3.12' } }],
    ['package.command', image, { image: 'npx://a', package: { command: '../b' } }],
    ['package.with', image, { image: 'npx://a', package: { with: ['b', '--registry=x'] } }],
    ['package.python', image, { image: 'uvx://a', package: { python: '-x' } }],
    ['working_dir', image, { image: 'npx://a', working_dir: '/work' }],
    ['working_dir', image, { image: 'command://node', working_dir: 'work' }],
    ['url', remote, { remote_url: 'file:///etc/passwd' }],
    ['url', remote, { remote_url: 'https://user:word@mcp.example' }],
    ['transport', remote, { transport: 'stdio' }],
    ['transport', image, { transport: 'inspector' }],
    ['proxy_mode', image, { proxy_mode: 'udp' }],
    ['host', image, { host: 'a b' }],
    ['proxy_port', image, { port: 65_536 }],
    ['target_port', image, { target_port: -1 }],
    ['NotSupportedYet target_host', image, { target_host: '10.0.0.1' }],
    ['endpoint_prefix', image, { endpoint_prefix: 'https://other.example' }],
    ['env_vars.A=B', image, { env_vars: { 'A=B': '' } }],
    ['secrets[0]', image, { secrets: ['a-value'] }],
    ['secrets[0].target', image, { secrets: ['a,target=B-C'] }],
    ['secrets[1].target', image, { secrets: ['a,target=T', 'b,target=T'] }],
    ['tools_override.a', image, { tools_override: { a: {} } }],
    ['tools_override.b.name', image, { tools_override: { a: { name: 'c' }, b: { name: 'c' } } }],
    ['header_forward', image, { header_forward: { add_plaintext_headers: { A: 'b' } } }],
    ['header_forward.add_plaintext_headers.Host', remote, { header_forward: { add_plaintext_headers: { Host: 'b' } } }],
    ['header_forward.add_headers_from_secret.Te', remote, { header_forward: { add_headers_from_secret: { Te: 's' } } }],
    [
      'header_forward.add_plaintext_headers.A',
      remote,
      { header_forward: { add_plaintext_headers: { A: 'a\r\nB: c' } } },
    ],
    [
      'header_forward.add_plaintext_headers.A',
      remote,
      { header_forward: { add_plaintext_headers: { A: 'x'.repeat(8_193) } } },
    ],
    ['oauth_config', image, { remote_auth_config: { issuer: 'https://i.example' } }],
    ['oauth_config.resource', remote, { remote_auth_config: { resource: 'https://a.example/#b' } }],
    ['oauth_config.callback_port', remote, { remote_auth_config: { callback_port: 80 } }],
    ['oauth_config.bearer_token', remote, { remote_auth_config: { bearer_token: 'a-value' } }],
    ['oauth_config.token_url', remote, { remote_auth_config: { token_url: 'gopher://i.example' } }],
    ['audit_config.eventTypes[0]', image, { audit_config: { eventTypes: ['tool_call'] } }],
    ['audit_config_path', image, { audit_config: {}, audit_config_path: '/audit.json' }],
    ['authz_config', image, { authz_config: cedar(OPEN) }],
    ['authz_config_path', image, { authz_config_path: '/policy.yaml' }],
    ['authz_config_path', image, { ...login, authz_config: cedar(OPEN), authz_config_path: '/policy.yaml' }],
    ['authz_config.cedar.policies[1]', image, { ...login, authz_config: cedar(OPEN, 'permit(') }],
    ['authz_config.type', image, { ...login, authz_config: { ...cedar(OPEN), type: 'httpv1' } }],
    ['rate_limit_config.perUser', image, { rate_limit_config: { perUser: bucket } }],
    ['rate_limit_config', image, { rate_limit_config: {} }],
    ['rate_limit_namespace', image, { rate_limit_namespace: 'a' }],
    ['mutating_webhooks[0].url', image, { mutating_webhooks: [{ ...webhook, url: 'http://hooks.example' }] }],
    ['validating_webhooks[1].name', image, { validating_webhooks: [webhook, webhook] }],
    [
      'validating_webhooks[0].hmac_secret_ref',
      image,
      { validating_webhooks: [{ ...webhook, hmac_secret_ref: 'a,b' }] },
    ],
    ['telemetry_config.endpoint', image, { telemetry_config: { endpoint: 'http://otel.example' } }],
    ['cloud_sts_config', image, { cloud_sts_config: { region: 'eu-west-1' } }],
    ['token_exchange_config', remote, { cloud_sts_config: { region: 'eu-west-1' }, token_exchange_config: {} }],
    ['upstream_swap_config', remote, { cloud_sts_config: { region: 'eu-west-1' }, upstream_swap_config: {} }],
    ['NotSupportedYet runtime_config', image, { runtime_config: { builder_image: 'b' } }],
  ])('name %s', (path, config, members) => {
    expect(pathsOf({ ...config, ...members })).toContain(path);
  });
});

it('tells anonymous workloads which setting of theirs gives users', () => {
  const anonymous = { ...image, authz_config: cedar(OPEN), rate_limit_config: { perUser: bucket } };
  for (const { message } of runConfigProblems(anonymous)) expect(message).toContain('set oidc_config, or ');
});

it.each([
  ['a', true],
  ['A.b_c-1', true],
  ['a'.repeat(100), true],
  ['a'.repeat(101), false],
  ['', false],
  ['.a', false],
  ['-a', false],
  ['..', false],
  ['a/b', false],
  ['größe', false],
  ['a\n', false],
  ['a\u0000', false],
])('a workload may have the name %j: %j', (name, isValid) => {
  expect(new RegExp(WORKLOAD_NAME, 'u').test(name)).toBe(isValid);
});
