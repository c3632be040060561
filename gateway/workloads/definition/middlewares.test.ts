import { describe, expect, it } from 'vitest';
import { SCHEMA_VERSION, type RunConfig } from '../../contract/run-config/run-config.ts';
import { withoutMiddlewares } from './middlewares.ts';

type Chain = NonNullable<RunConfig['middleware_configs']>;
const bucket = { maxTokens: 2, refillPeriod: '1m0s' };
const base = { schema_version: SCHEMA_VERSION, name: 'a' } as const;
const read = (chain: Chain, members: Partial<RunConfig> = {}) =>
  withoutMiddlewares({ ...base, ...members, middleware_configs: chain });

describe('middlewares', () => {
  it.each<[string, Chain, Partial<RunConfig>]>([
    [
      'auth',
      [{ type: 'auth', parameters: { oidc_config: { issuer: 'https://i' } } }],
      { oidc_config: { issuer: 'https://i' } },
    ],
    [
      'auth as other programs write it',
      [
        {
          type: 'auth',
          parameters: {
            oidc_config: {
              ...{ Issuer: 'https://i', Audience: 'a', JWKSURL: 'https://i/k', ClientID: '', ClientSecret: '' },
              ...{ CACertPath: '/ca', AuthTokenFile: '', AllowPrivateIP: true, InsecureAllowHTTP: false },
              ...{ IntrospectionURL: '', ResourceURL: 'https://r', Scopes: null },
            },
          },
        },
      ],
      {
        oidc_config: {
          ...{ issuer: 'https://i', audience: 'a', jwksurl: 'https://i/k', cacertPath: '/ca', allowPrivateIP: true },
          resourceURL: 'https://r',
        },
      },
    ],
    ['auth without a login', [{ type: 'auth', parameters: { oidc_config: null } }], {}],
    [
      'cloudsts',
      [
        {
          type: 'cloudsts',
          parameters: { cloud_sts_config: { region: 'eu-west-1' }, target_url: 'https://a.example' },
        },
      ],
      { cloud_sts_config: { region: 'eu-west-1' } },
    ],
    [
      'tokenexchange',
      [{ type: 'tokenexchange', parameters: { token_exchange_config: { audience: 'b' } } }],
      { token_exchange_config: { audience: 'b' } },
    ],
    [
      'upstreamswap',
      [{ type: 'upstreamswap', parameters: { config: { provider_name: 'p' } } }],
      { upstream_swap_config: { provider_name: 'p' } },
    ],
    [
      'both filters of tools',
      ['tool-filter', 'tool-call-filter'].map((type) => ({
        type,
        parameters: { filter_tools: ['t'], tools_override: null },
      })),
      { tools_filter: ['t'] },
    ],
    [
      'what vmcp always does',
      [{ type: 'mcp-parser' }, { type: 'recovery' }, { type: 'usagemetrics', parameters: {} }],
      {},
    ],
    [
      'authorization',
      [{ type: 'authorization', parameters: { config_path: '', config_data: { type: 'cedarv1' } } }],
      { authz_config: { type: 'cedarv1' } },
    ],
    [
      'authorization by a file',
      [{ type: 'authorization', parameters: { config_path: '/p.yaml', config_data: null } }],
      { authz_config_path: '/p.yaml' },
    ],
    [
      'ratelimit',
      [{ type: 'ratelimit', parameters: { namespace: 'n', server_name: 'a', config: { shared: bucket } } }],
      { rate_limit_config: { shared: bucket }, rate_limit_namespace: 'n' },
    ],
    [
      'telemetry',
      [{ type: 'telemetry', parameters: { config: { endpoint: 'e' }, server_name: 'a', transport: 'stdio' } }],
      { telemetry_config: { endpoint: 'e' } },
    ],
    [
      'webhooks',
      ['mutating-webhook', 'validating-webhook'].map((type) => ({
        type,
        parameters: { webhooks: [{ name: 'w' }], server_name: 'a', transport: 'stdio' },
      })),
      { mutating_webhooks: [{ name: 'w' }], validating_webhooks: [{ name: 'w' }] },
    ],
    [
      'audit',
      [
        {
          type: 'audit',
          parameters: { config_path: '', config_data: { enabled: true }, component: 'a', transport_type: 'stdio' },
        },
      ],
      { audit_config: { enabled: true } },
    ],
    [
      'audit by a file',
      [{ type: 'audit', parameters: { config_path: '/audit.json', config_data: null } }],
      { audit_config_path: '/audit.json' },
    ],
    [
      'header-forward',
      [{ type: 'header-forward', parameters: { add_headers: { 'X-Team': 'a' } } }],
      { header_forward: { add_plaintext_headers: { 'X-Team': 'a' } } },
    ],
    [
      'the origins of this machine, and no token of the client',
      [
        { type: 'origin', parameters: { allowed_origins: ['http://localhost:*', 'http://[::1]:8080'] } },
        { type: 'origin' },
        { type: 'strip-auth' },
      ],
      {},
    ],
    ['the default limit of bodies', [{ type: 'bodylimit', parameters: { max_bytes: 8_388_608 } }], {}],
  ])('mean typed members: %s', (_, chain, members) => {
    expect(read(chain)).toEqual({ config: { ...base, ...members }, problems: [] });
  });

  it('accept a login that equals the typed one except for case and empty members', () => {
    const typed = { oidc_config: { issuer: 'https://i', jwksurl: '', scopes: [] } };
    const chain = [{ type: 'auth', parameters: { oidc_config: { Issuer: 'https://i', JWKSURL: '', Scopes: null } } }];
    expect(read(chain, typed)).toEqual({ config: { ...base, ...typed }, problems: [] });
    const other = [{ type: 'auth', parameters: { oidc_config: { Issuer: 'https://j' } } }];
    expect(read(other, typed).problems).toMatchObject([{ reason: 'Conflict' }]);
  });

  it.each<[string, Chain, Partial<RunConfig>, string]>([
    ['an unknown type', [{ type: 'mcp-parser' }, { type: 'other' }], {}, 'NotSupportedYet middleware_configs[1]'],
    [
      'a signing key',
      [{ type: 'validating-webhook', parameters: { webhooks: [{ name: 'w', hmacSecret: 'val-4711' }] } }],
      {},
      'InvalidValue middleware_configs[0].parameters.webhooks[0].hmacSecret',
    ],
    [
      'a signing key of a typed webhook',
      [{ type: 'mcp-parser' }],
      { mutating_webhooks: [{ name: 'w', ...{ hmac_secret: 'val-4711' } }] },
      'InvalidValue mutating_webhooks[0].hmac_secret',
    ],
    ['no type', [{}], {}, 'NotSupportedYet middleware_configs[0]'],
    ['a name of Object', [{ type: 'constructor' }], {}, 'NotSupportedYet middleware_configs[0]'],
    [
      'another limit',
      [{ type: 'bodylimit', parameters: { max_bytes: 1 } }],
      {},
      'NotSupportedYet middleware_configs[0]',
    ],
    [
      'other origins',
      [{ type: 'origin', parameters: { allowed_origins: ['https://app.example'] } }],
      {},
      'NotSupportedYet middleware_configs[0]',
    ],
    [
      'no token of an upstream provider, which the typed member allows',
      [{ type: 'strip-auth' }],
      { embedded_auth_server_config: { issuer: 'https://i' } },
      'NotSupportedYet middleware_configs[0]',
    ],
    ['headers without a name', [{ type: 'header-forward' }], {}, 'NotSupportedYet middleware_configs[0]'],
    ...['audit', 'authorization', 'ratelimit', 'telemetry', 'mutating-webhook', 'validating-webhook'].map(
      (type): [string, Chain, Partial<RunConfig>, string] => [
        `${type} without settings`,
        [{ type, parameters: { server_name: 'a' } }],
        {},
        'NotSupportedYet middleware_configs[0]',
      ],
    ),
    [
      'a namespace without limits',
      [{ type: 'ratelimit', parameters: { namespace: 'n' } }],
      {},
      'NotSupportedYet middleware_configs[0]',
    ],
    [
      'limits in a store',
      [{ type: 'ratelimit', parameters: { config: { shared: bucket }, redis_addr: 'a:1' } }],
      {},
      'NotSupportedYet middleware_configs[0]',
    ],
    [
      'another policy than the typed one',
      [{ type: 'authorization', parameters: { config_data: { type: 'cedarv1' } } }],
      { authz_config: { type: 'other' } },
      'Conflict middleware_configs[0]',
    ],
    [
      'a difference from a typed member',
      [{ type: 'tool-filter', parameters: { filter_tools: ['t'] } }],
      { tools_filter: ['u'] },
      'Conflict middleware_configs[0]',
    ],
    [
      'a difference between two',
      [
        { type: 'tool-filter', parameters: { filter_tools: ['t'] } },
        { type: 'tool-call-filter', parameters: { filter_tools: [] } },
      ],
      {},
      'Conflict middleware_configs[1]',
    ],
    [
      'parameters of a wrong type',
      [{ type: 'tool-filter', parameters: { filter_tools: 't' } }],
      {},
      'InvalidType middleware_configs: tools_filter',
    ],
  ])('are reported: %s', (_, chain, members, problem) => {
    expect(read(chain, members).problems.map(({ reason, path }) => `${reason} ${path}`)).toEqual([problem]);
  });
});
