import { describe, expect, it } from 'vitest';
import type { RunConfig } from '../../contract/run-config/run-config.ts';
import { runConfigOf } from './run-config-of.ts';
import { secretOfPath } from '../../contract/run-config/secret-path.ts';
import { backendNameOf, secretsOf, servingConfigOf, type ServingFacts } from './serving-config.ts';

const stdio = runConfigOf('Team.A', { image: 'npx://server' });
const http = runConfigOf('a', { image: 'npx://server', transport: 'streamable-http' });
const remote = runConfigOf('a', { url: 'https://mcp.example/mcp?key=1' });

const serve = (config: RunConfig, members: Partial<RunConfig> = {}, facts: ServingFacts = {}) =>
  servingConfigOf({ ...config, ...members }, facts);
const toolsOf = (members: Partial<RunConfig>): unknown => serve(stdio, members).vmcp.aggregation.tools?.[0];

const authServer = { issuer: 'https://as.example', allowed_audiences: ['vmcp'], upstreams: [{ name: 'corp' }] };

describe('backend', () => {
  it.each<[string, RunConfig, Partial<RunConfig>, ServingFacts, object]>([
    [
      'of a stdio server',
      stdio,
      {},
      { process: { image: 'npx://server' } },
      { name: 'team-a', transport: 'stdio', process: { image: 'npx://server' } },
    ],
    [
      'of an HTTP server',
      http,
      { cli_ca_bundle: '/ca.pem' },
      { serverUrl: 'http://127.0.0.1:1/mcp' },
      {
        ...{ name: 'a', transport: 'streamable-http', url: 'http://127.0.0.1:1/mcp' },
        ...{ insecure_allow_http: true, allow_private_ips: true },
      },
    ],
    ...(
      [
        ['localhost', 8931, 'localhost:8931'],
        ['::1', 0, '[::1]:1'],
      ] as const
    ).map(([target_host, target_port, host_header]): [string, RunConfig, Partial<RunConfig>, ServingFacts, object] => [
      `of a server that answers to ${host_header} only`,
      http,
      { target_host, target_port },
      { serverUrl: 'http://127.0.0.1:1/mcp' },
      {
        ...{ name: 'a', transport: 'streamable-http', url: 'http://127.0.0.1:1/mcp', host_header },
        ...{ insecure_allow_http: true, allow_private_ips: true },
      },
    ]),
    [
      'of a server at its own address',
      http,
      { target_host: '127.0.0.1', target_port: 8931 },
      { serverUrl: 'http://127.0.0.1:8931/mcp' },
      {
        ...{ name: 'a', transport: 'streamable-http', url: 'http://127.0.0.1:8931/mcp' },
        ...{ insecure_allow_http: true, allow_private_ips: true },
      },
    ],
    [
      'of a remote server',
      remote,
      { cli_ca_bundle: '/ca.pem', header_forward: { add_plaintext_headers: { A: 'plain', B: 'b' } } },
      { secretHeaders: { A: 'secret' } },
      {
        ...{ name: 'a', transport: 'streamable-http', url: 'https://mcp.example/mcp?key=1', ca_bundle_file: '/ca.pem' },
        header_forward: { add_plaintext_headers: { A: 'secret', B: 'b' } },
      },
    ],
    ['at a private address', remote, {}, { allowPrivateIps: true }, { allow_private_ips: true }],
  ])('%s', (_, config, members, facts, expected) => {
    const [backend] = serve(config, members, facts).vmcp.backends;
    if (facts.allowPrivateIps) expect(backend).toMatchObject(expected);
    else expect(backend).toEqual(expected);
  });
});

describe('tools', () => {
  it.each<[string, Partial<RunConfig>, object | undefined]>([
    ['are all without settings', {}, undefined],
    ['are filtered by their names', { tools_filter: ['a'] }, { filter: ['a'] }],
    [
      'are renamed, then filtered',
      { tools_filter: ['new', 'b'], tools_override: { a: { name: 'new' } } },
      { filter: ['a', 'b'], overrides: { a: { name: 'new' } } },
    ],
    [
      'do not match their original names',
      { tools_filter: ['a'], tools_override: { a: { name: 'new' } } },
      { exclude_all: true, overrides: { a: { name: 'new' } } },
    ],
    [
      'match their names with a new description',
      { tools_filter: ['a'], tools_override: { a: { description: 'New.' } } },
      { filter: ['a'], overrides: { a: { description: 'New.' } } },
    ],
    [
      'match their names with an empty new name',
      { tools_filter: ['a'], tools_override: { a: { name: '', description: 'New.' } } },
      { filter: ['a'], overrides: { a: { description: 'New.' } } },
    ],
    [
      'can swap names',
      { tools_filter: ['b'], tools_override: { a: { name: 'b' }, b: { name: 'a' } } },
      { filter: ['a'], overrides: { a: { name: 'b' }, b: { name: 'a' } } },
    ],
    [
      'may have a name of Object',
      { tools_filter: ['constructor'], tools_override: { a: { name: 'b' } } },
      { filter: ['constructor'] },
    ],
  ])('%s', (_, members, expected) => {
    if (expected) expect(toolsOf(members)).toMatchObject({ workload: 'team-a', ...expected });
    else expect(toolsOf(members)).toBeUndefined();
  });
});

describe('login and credential', () => {
  it.each<[string, RunConfig, Partial<RunConfig>, object]>([
    ['none', stdio, {}, { vmcp: { incoming: { type: 'anonymous' } } }],
    [
      'tokens, with files of older releases',
      stdio,
      {
        oidc_config: { issuer: 'https://i', clientSecret: 's,target=X' },
        ...{ jwks_auth_token_file: '/token', cli_ca_bundle: '/ca.pem' },
      },
      {
        oidc_config: {
          ...{ issuer: 'https://i', clientSecretFile: 'secret:s', authTokenFile: '/token', cacertPath: '/ca.pem' },
        },
        vmcp: { incoming: { type: 'oidc', source: 'inline' } },
      },
    ],
    [
      'own files before those of older releases',
      stdio,
      {
        oidc_config: { issuer: 'https://i', authTokenFile: '/own', cacertPath: '/own.pem' },
        ...{ jwks_auth_token_file: '/token', cli_ca_bundle: '/ca.pem' },
      },
      { oidc_config: { issuer: 'https://i', authTokenFile: '/own', cacertPath: '/own.pem' } },
    ],
    [
      'exchange',
      remote,
      { token_exchange_config: { token_url: 'https://i/t', client_secret: 's,target=X' }, upstream_swap_config: {} },
      {
        vmcp: {
          outgoing_auth: { a: { type: 'token_exchange', token_url: 'https://i/t', client_secret_file: 'secret:s' } },
        },
      },
    ],
    [
      'cloud credentials',
      remote,
      { cloud_sts_config: { region: 'eu-west-1', fallback_role_arn: 'arn' } },
      { vmcp: { outgoing_auth: { a: { type: 'cloud_sts', region: 'eu-west-1', fallback_role_arn: 'arn' } } } },
    ],
    [
      'swap',
      remote,
      { upstream_swap_config: { header_strategy: 'custom', custom_header_name: 'X' } },
      {
        vmcp: {
          outgoing_auth: {
            a: {
              type: 'upstream_inject',
              provider_name: 'default',
              header_strategy: 'custom',
              custom_header_name: 'X',
            },
          },
        },
      },
    ],
    [
      'authorization server',
      remote,
      { embedded_auth_server_config: authServer },
      {
        embedded_auth_server_config: authServer,
        oidc_config: { issuer: 'https://as.example', audience: 'vmcp' },
        vmcp: {
          incoming: { type: 'oidc', source: 'inline' },
          outgoing_auth: { a: { type: 'upstream_inject', provider_name: 'corp' } },
        },
      },
    ],
  ])('%s', (_, config, members, expected) => {
    const served = serve(config, members);
    expect(served).toMatchObject(expected);
    if ('oidc_config' in expected) expect(served.oidc_config).toEqual(expected.oidc_config);
  });

  it('of an authorization server that keeps upstream tokens is none', () => {
    const keeping = { ...authServer, disable_upstream_token_injection: true };
    expect(serve(remote, { embedded_auth_server_config: keeping }).vmcp).not.toHaveProperty('outgoing_auth');
  });

  it('of a stdio server behind an authorization server has no upstream token', () => {
    expect(serve(stdio, { embedded_auth_server_config: authServer }).vmcp).not.toHaveProperty('outgoing_auth');
  });
});

it('passes policies, limits, webhooks and telemetry to the gateway unchanged', () => {
  const controls: Partial<RunConfig> = {
    authz_config: { type: 'cedarv1', version: '1.0', cedar: { policies: ['permit(principal, action, resource);'] } },
    rate_limit_config: { shared: { maxTokens: 2, refillPeriod: '1m0s' } },
    rate_limit_namespace: 'desk',
    telemetry_config: { endpoint: 'https://otel.example:4318' },
    mutating_webhooks: [{ name: 'm', url: 'https://hooks.example/m' }],
    validating_webhooks: [{ name: 'v', url: 'https://hooks.example/v' }],
  };
  expect(serve(stdio, controls)).toMatchObject(controls);
});

it.each([
  ['check', 'secret:check'],
  ['check,target=x', 'secret:check'],
  ['/etc/check', '/etc/check'],
])('signs requests to a webhook with the key %s', (reference, path) => {
  const served = serve(stdio, { validating_webhooks: [{ name: 'v', hmac_secret_ref: reference }] });
  expect(served.validating_webhooks).toEqual([{ name: 'v', hmac_secret_ref: path }]);
});

it('applies prefix, statelessness, proxies and debug messages', () => {
  const served = serve(stdio, { endpoint_prefix: '/p', stateless: true, trust_proxy_headers: true, debug: true });
  expect(served).toMatchObject({ endpoint_prefix: '/p', stateless: true, trust_proxy_headers: true, debug: true });
  expect(served.vmcp.incoming.trusted_proxies).toContain('127.0.0.0/8');
  expect(served.vmcp.operational).toMatchObject({ log_level: 'debug' });
  expect(serve(stdio, { trust_proxy_headers: false })).not.toHaveProperty('trust_proxy_headers');
});

it.each([
  ['a', 'a'],
  ['A_b.c', 'a-b-c'],
  ['a--b-', 'a-b'],
  ['9', '9'],
  ['x'.repeat(100), 'x'.repeat(63)],
  [`${'x'.repeat(62)}-y`, 'x'.repeat(62)],
])('the backend of %j is %j', (name, expected) => {
  expect(backendNameOf(name)).toBe(expected);
});

it('lists every secret, with the member that names it', () => {
  const named = {
    secrets: ['env,target=E', 'a-value'],
    oidc_config: { clientSecret: 'oidc,target=x' },
    token_exchange_config: { client_secret: 'exchange,target=x' },
    remote_auth_config: { client_secret: 'login,target=x', bearer_token: 'bearer,target=x' },
    header_forward: { add_headers_from_secret: { 'X-A': 'header' } },
    mutating_webhooks: [{ hmac_secret_ref: 'hook,target=x' }, { hmac_secret_ref: '/etc/hook' }, {}],
    validating_webhooks: [{ hmac_secret_ref: 'check' }],
  };
  expect(secretsOf({ ...remote, ...named }).map(({ name, path }) => `${name} ${path}`)).toEqual([
    'env secrets[0]',
    'oidc oidc.client_secret',
    'exchange token_exchange_config.client_secret',
    'login oauth_config.client_secret',
    'bearer oauth_config.bearer_token',
    'header header_forward.add_headers_from_secret.X-A',
    'hook mutating_webhooks[0].hmac_secret_ref',
    'check validating_webhooks[0].hmac_secret_ref',
  ]);
  expect([secretOfPath('secret:a'), secretOfPath('/etc/secret:a')]).toEqual(['a', undefined]);
});
