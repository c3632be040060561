import { describe, expect, it } from 'vitest';
import type { GatewayConfig } from '../contract/gateway-config.ts';
import type { EmbeddedAuthServerConfig } from '../contract/run-config/auth-server.ts';
import { given } from './testdata/given-config.ts';
import { authServerProblems } from './config-problems.ts';

type Change = Partial<EmbeddedAuthServerConfig>;

const PREFIX = 'embedded_auth_server_config.';
/** Returns `reason path` of each problem. */
const reasons = (config: GatewayConfig): string[] =>
  authServerProblems(config).map(({ reason, path }) => `${reason} ${path.replace(PREFIX, '')}`);

const oidc = (more: object = {}) => ({
  type: 'oidc',
  oidc_config: { issuer_url: 'https://idp.example', client_id: 'desk', ...more },
});
const oauth2 = (more: object = {}) => ({
  type: 'oauth2',
  oauth2_config: {
    authorization_endpoint: 'https://git.example/authorize',
    token_endpoint: 'https://git.example/token',
    client_id: 'desk',
    ...more,
  },
});
const two = [
  { name: 'corp', ...oidc() },
  { name: 'git', ...oauth2() },
];
const ownUserInfo = { endpoint_url: 'https://desk.example/oauth/userinfo' };
const keys = { signing_key_config: { key_dir: '/keys', signing_key_file: 'a.pem' }, hmac_secret_files: ['/hmac'] };
const DELEGATE = {
  client_id: 'batch',
  client_secret_file: '/batch',
  audiences: ['https://desk.example/mcp'],
  scopes: ['openid'],
};
const KVSTORE = 'storage.kvstore_config';

describe('a configuration of the authorization server', () => {
  it('may be absent', () => {
    const { embedded_auth_server_config: _, ...rest } = given();
    expect(authServerProblems(rest)).toEqual([]);
  });

  it.each<[string, Change]>([
    ['short', {}],
    ['with one provider without a name', { upstreams: [oidc()] }],
    [
      'with two providers and a filter',
      { upstreams: two, upstream_filter: { rules: [{ groups: ['a'], upstream_providers: ['git'] }] } },
    ],
    ['with a store and keys', { storage: { type: 'kvstore', kvstore_config: { addr: 'redis:6379' } }, ...keys }],
    ['with a store that outlives its keys', { storage: { type: 'kvstore', kvstore_config: { addr: 'redis' } } }],
    [
      'with described clients',
      {
        cimd: {
          advertise: 'always',
          documents: [
            {
              client_id: 'https://codex.example/*/client.json',
              client_name: 'Codex',
              redirect_uris: ['http://127.0.0.1/cb/*'],
            },
            {
              client_id: 'https://a.example/c',
              client_name: 'A',
              redirect_uris: ['https://a.example/cb', 'http://[::1]/cb?x=1'],
            },
          ],
        },
      },
    ],
    ['with hosts of clients', { cimd: { allowed_hosts: ['*.example.com', 'app.example'], cache_fallback_ttl: '1s' } }],
    [
      'with a provider at the same host',
      { upstreams: [oauth2({ token_endpoint: 'https://desk.example/realms/a/oauth/token' })] },
    ],
    ['with one audience twice', { allowed_audiences: ['https://desk.example/mcp', 'https://desk.example/mcp'] }],
    [
      'with its pages at another origin',
      {
        authorization_endpoint_base_url: 'https://login.example/x',
        upstreams: [oidc({ redirect_uri: 'https://login.example/oauth/callback' })],
      },
    ],
  ])('is accepted when it is %s', (_, change) => {
    expect(reasons(given(change))).toEqual([]);
  });

  it('accepts http on loopback, and with insecure_allow_http', () => {
    const at = (issuer: string, change: Change = {}): string[] =>
      reasons({ ...given({ issuer, ...change }), oidc_config: { issuer, audience: `${issuer}/mcp` } });
    expect(at('http://127.0.0.1:4483')).toEqual([]);
    expect(at('http://desk.example')).toEqual(['InsecureUrl issuer']);
    expect(at('http://desk.example', { insecure_allow_http: true })).toEqual([]);
    expect(at('http://127.0.0.1', { allow_confidential_client_registration: true })).toEqual([
      'RuleViolated allow_confidential_client_registration',
    ]);
    const confidential = {
      allow_confidential_client_registration: true,
      insecure_allow_confidential_over_loopback_http: true,
    };
    expect(at('http://127.0.0.1', confidential)).toEqual([]);
    expect(at('http://127.0.0.1', { delegate_clients: [DELEGATE] })).toContain('RuleViolated delegate_clients');
    expect(at('http://desk.example', { ...confidential, insecure_allow_http: true })).toEqual([
      'RuleViolated allow_confidential_client_registration',
    ]);
  });

  it.each<[string, Change, string[]]>([
    ['an issuer that is no URL', { issuer: 'desk' }, ['InvalidUrl issuer']],
    ['an issuer of another scheme', { issuer: 'ftp://desk.example' }, ['InvalidUrl issuer']],
    ['a user in the issuer', { issuer: 'https://a:b@desk.example' }, ['CredentialsInUrl issuer']],
    ['a slash at the end', { issuer: 'https://desk.example/' }, ['InvalidUrl issuer']],
    ['a query', { issuer: 'https://desk.example?a' }, ['InvalidUrl issuer']],
    ['a bare question mark', { issuer: 'https://desk.example/x?' }, ['InvalidUrl issuer']],
    ['a fragment', { issuer: 'https://desk.example#a' }, ['InvalidUrl issuer']],
    ['capitals in the host', { issuer: 'https://Desk.example' }, ['InvalidUrl issuer']],
    ['dot segments', { issuer: 'https://desk.example/a/../b' }, ['InvalidUrl issuer']],
    [
      'a base with a slash',
      { authorization_endpoint_base_url: 'https://x.example/' },
      ['InvalidUrl authorization_endpoint_base_url'],
    ],
    [
      'a base without TLS',
      { authorization_endpoint_base_url: 'http://x.example' },
      ['InsecureUrl authorization_endpoint_base_url'],
    ],
    [
      'a lifetime that is too short',
      { token_lifespans: { auth_code_lifespan: '1s' } },
      ['InvalidLifespan token_lifespans.auth_code_lifespan'],
    ],
    [
      'a key outside its folder',
      { signing_key_config: { key_dir: '/k', signing_key_file: '../a' } },
      ['InvalidKeyFile signing_key_config.signing_key_file'],
    ],
    ['one secret twice', { hmac_secret_files: ['/a', '/b', '/a'] }, ['InvalidValue hmac_secret_files[2]']],
    [
      'six secrets',
      { hmac_secret_files: ['1', '2', '3', '4', '5', ''] },
      ['InvalidValue hmac_secret_files', 'InvalidValue hmac_secret_files[5]'],
    ],
    ['no provider', { upstreams: [] }, ['MissingField upstreams']],
    ['a provider of no type', { upstreams: [{ name: 'a' }] }, ['InvalidValue upstreams[0].type']],
    [
      'a provider with a problem',
      { upstreams: [{ name: 'a', ...oidc({ issuer_url: 'http://idp.example' }) }] },
      ['InsecureUrl upstreams[0].oidc_config.issuer_url'],
    ],
    [
      'two without a name',
      { upstreams: [oidc(), oauth2()] },
      ['MissingField upstreams[0].name', 'MissingField upstreams[1].name'],
    ],
    [
      'two with the same name',
      { upstreams: [two[0], { ...two[1], name: 'corp' }] as Change['upstreams'] & {} },
      ['InvalidValue upstreams[1].name'],
    ],
    ['a name that is no label', { upstreams: [{ name: 'Corp_1', ...oidc() }] }, ['InvalidValue upstreams[0].name']],
    [
      'nine providers',
      { upstreams: Array.from({ length: 9 }, (_, index) => ({ name: `p${String(index)}`, ...oidc() })) },
      ['InvalidValue upstreams'],
    ],
    [
      'a provider that is this server',
      {
        authorization_endpoint_base_url: 'https://login.desk.example',
        upstreams: [
          { name: 'corp', ...oidc({ issuer_url: 'https://desk.example', userinfo_override: ownUserInfo }) },
          {
            name: 'git',
            ...oauth2({
              authorization_endpoint: 'https://login.desk.example/oauth/authorize',
              token_endpoint: 'https://DESK.example:443/oauth/token',
              revocation_endpoint: 'https://desk.example/oauth/revoke',
              userinfo: ownUserInfo,
            }),
          },
        ],
      },
      [
        'upstreams[0].oidc_config.issuer_url',
        'upstreams[0].oidc_config.userinfo_override.endpoint_url',
        'upstreams[1].oauth2_config.authorization_endpoint',
        'upstreams[1].oauth2_config.token_endpoint',
        'upstreams[1].oauth2_config.revocation_endpoint',
        'upstreams[1].oauth2_config.userinfo.endpoint_url',
      ].map((path) => `CircularAddress ${path}`),
    ],
    [
      'a redirect URI at another origin',
      { upstreams: [oidc({ redirect_uri: 'https://else.example/oauth/callback' })] },
      ['RedirectOriginMismatch upstreams[0].oidc_config.redirect_uri'],
    ],
    ...['/oauth/token', '/oauth/consent', '/mcp', '/health', '/.well-known/x'].map(
      (path): [string, Change, string[]] => [
        `a way back to ${path}, which is taken`,
        { upstreams: [oidc({ redirect_uri: `https://desk.example${path}` })] },
        ['InvalidValue upstreams[0].oidc_config.redirect_uri'],
      ],
    ),
    [
      'redirect URIs at two origins',
      {
        authorization_endpoint_base_url: 'https://login.example',
        upstreams: [
          { name: 'corp', ...oidc() },
          { name: 'git', ...oauth2({ redirect_uri: 'https://login.example/oauth/callback' }) },
        ],
      },
      ['RedirectOriginMismatch upstreams[1].oauth2_config.redirect_uri'],
    ],
    ['a scope of two words', { scopes_supported: ['openid', 'a b'] }, ['InvalidValue scopes_supported[1]']],
    ['no scope', { scopes_supported: [] }, ['InvalidValue scopes_supported']],
    [
      'an unsupported baseline scope',
      { baseline_client_scopes: ['openid', 'x'] },
      ['RuleViolated baseline_client_scopes[1]'],
    ],
    [
      'secrets for clients that cannot have any',
      { force_confidential_redirect_uris: ['https://app.example/cb'] },
      ['RuleViolated force_confidential_redirect_uris'],
    ],
    [
      'secrets for a client without TLS',
      { allow_confidential_client_registration: true, force_confidential_redirect_uris: ['http://127.0.0.1/cb'] },
      ['InvalidUrl force_confidential_redirect_uris[0]'],
    ],
    [
      'a delegate client of what is not issued',
      {
        delegate_clients: [
          { ...DELEGATE, audiences: ['https://other.example/mcp'], scopes: ['admin'] },
          { client_id: 'batch' },
        ],
      },
      [
        'InvalidValue delegate_clients[1]',
        'RuleViolated delegate_clients[0].audiences[0]',
        'RuleViolated delegate_clients[0].scopes[0]',
        'MissingField delegate_clients[1].client_secret_file',
        'MissingField delegate_clients[1].audiences',
        'MissingField delegate_clients[1].scopes',
      ],
    ],
    [
      'delegate clients without an id, and too many',
      {
        delegate_clients: Array.from({ length: 11 }, (_, index) => ({
          ...DELEGATE,
          client_id: index === 0 ? '' : `c${String(index)}`,
        })),
      },
      ['InvalidValue delegate_clients', 'MissingField delegate_clients[0].client_id'],
    ],
    [
      'trusted issuers that do not fit',
      {
        delegate_clients: [DELEGATE],
        trusted_issuers: [
          {
            issuer_url: 'https://desk.example/oauth/token',
            expected_audience: 'a',
            allowed_delegate_clients: ['batch'],
          },
          { issuer_url: 'http://a.example', allow_private_ips: true, actor_claim: 'sub', actor_matcher: '(' },
          { issuer_url: 'https://b.example', expected_audience: 'a', allowed_delegate_clients: ['*', 'other'] },
          { issuer_url: 'https://b.example', jwt_bearer_grant: {} },
          {},
        ],
      },
      [
        'InvalidValue trusted_issuers[3]',
        'CircularAddress trusted_issuers[0].issuer_url',
        'InsecureUrl trusted_issuers[1].issuer_url',
        'RuleViolated trusted_issuers[1].allow_private_ips',
        'MissingField trusted_issuers[1].expected_audience',
        'RuleViolated trusted_issuers[1].actor_claim',
        'RuleViolated trusted_issuers[1].actor_matcher',
        'RuleViolated trusted_issuers[1].actor_claim',
        'InvalidValue trusted_issuers[1].actor_matcher',
        'RuleViolated trusted_issuers[2].allowed_delegate_clients',
        'RuleViolated trusted_issuers[2].allowed_delegate_clients[1]',
        'MissingField trusted_issuers[3].jwt_bearer_grant.max_assertion_age',
        'MissingField trusted_issuers[3].jwt_bearer_grant.subject_bindings',
        'MissingField trusted_issuers[4].issuer_url',
        'MissingField trusted_issuers[4].expected_audience',
      ],
    ],
    [
      'assertions that are never or not only valid here',
      {
        trusted_issuers: [
          {
            issuer_url: 'https://ci.example',
            jwt_bearer_grant: {
              max_assertion_age: '1ms',
              subject_bindings: [
                { subject: 'ci', allowed_resources: ['https://desk.example/mcp', 'https://x.example/mcp'] },
                { subject: 'ci' },
                { allowed_resources: [] },
              ],
            },
          },
        ],
      },
      [
        'InvalidDuration trusted_issuers[0].jwt_bearer_grant.max_assertion_age',
        'InvalidValue trusted_issuers[0].jwt_bearer_grant.subject_bindings[1]',
        'RuleViolated trusted_issuers[0].jwt_bearer_grant.subject_bindings[0].allowed_resources[1]',
        'MissingField trusted_issuers[0].jwt_bearer_grant.subject_bindings[2].subject',
      ],
    ],
    [
      'hosts that are URLs',
      { cimd: { allowed_hosts: ['https://a.example'], denied_hosts: ['a.*'] } },
      ['InvalidValue cimd.allowed_hosts[0]', 'InvalidValue cimd.denied_hosts[0]'],
    ],
    [
      'wrong descriptions of clients',
      {
        cimd: {
          documents: [
            { client_id: 'vcl_1', client_name: ' ', redirect_uris: ['https://a.example/*', 'cursor://app/cb'] },
            { client_id: 'https://*.example/c', client_name: 'B', redirect_uris: [] },
          ],
        },
      },
      [
        'InvalidValue cimd.documents[0].client_id',
        'InvalidValue cimd.documents[0].client_name',
        'InvalidValue cimd.documents[0].redirect_uris[0]',
        'InvalidValue cimd.documents[0].redirect_uris[1]',
        'InvalidValue cimd.documents[1].client_id',
        'InvalidValue cimd.documents[1].redirect_uris',
      ],
    ],
    ['a cache lifetime of zero', { cimd: { cache_fallback_ttl: '10ms' } }, ['InvalidDuration cimd.cache_fallback_ttl']],
    [
      'a filter of one provider',
      { upstream_filter: { rules: [{ groups: ['a'], upstream_providers: ['corp'] }] } },
      ['RuleViolated upstream_filter'],
    ],
    [
      'an incomplete filter',
      { upstreams: two, upstream_filter: { claim: '', rules: [{}], default_upstreams: ['x'] } },
      [
        'InvalidValue upstream_filter.claim',
        'MissingField upstream_filter.rules[0].groups',
        'MissingField upstream_filter.rules[0].upstream_providers',
        'UpstreamProviderUnknown upstream_filter.default_upstreams[0]',
      ],
    ],
    ['an empty filter', { upstreams: two, upstream_filter: {} }, ['MissingField upstream_filter.rules']],
    [
      'a filter with an unknown provider',
      { upstreams: two, upstream_filter: { rules: [{ groups: ['a'], upstream_providers: ['git', 'x'] }] } },
      ['UpstreamProviderUnknown upstream_filter.rules[0].upstream_providers[1]'],
    ],
    ['an unknown store', { storage: { type: 'disk' } }, ['InvalidValue storage.type']],
    ['a store without its settings', { storage: { type: 'kvstore' }, ...keys }, [`MissingField ${KVSTORE}`]],
    ['settings of another store', { storage: { kvstore_config: { addr: 'a' } } }, [`RuleViolated ${KVSTORE}`]],
    [
      'a store with two addresses',
      { storage: { type: 'kvstore', kvstore_config: { addr: 'a', sentinel_config: {} } }, ...keys },
      [`InvalidValue ${KVSTORE}.addr`],
    ],
    [
      'a store without an address',
      { storage: { type: 'kvstore', kvstore_config: { addr: 'a b' } }, ...keys },
      [`InvalidValue ${KVSTORE}.addr`],
    ],
    [
      'a store with several problems',
      { storage: { type: 'kvstore', kvstore_config: { addr: 'a b', auth_type: 'x', dial_timeout: '0s' } }, ...keys },
      ['addr', 'auth_type', 'dial_timeout'].map((member) => `InvalidValue ${KVSTORE}.${member}`),
    ],
    [
      'an audience that is no URL',
      { allowed_audiences: ['https://desk.example/mcp', 'desk'] },
      ['AudienceMismatch allowed_audiences[1]'],
    ],
    [
      'an audience that is no URL, after a repeated one',
      { allowed_audiences: ['https://desk.example/mcp', 'https://desk.example/mcp', 'desk'] },
      ['AudienceMismatch allowed_audiences[2]'],
    ],
    [
      'an audience with a fragment',
      { allowed_audiences: ['https://desk.example/mcp', 'https://desk.example/#a'] },
      ['AudienceMismatch allowed_audiences[1]'],
    ],
    [
      'tokens for other servers only',
      { allowed_audiences: ['https://desk.example/other'] },
      ['AudienceMismatch allowed_audiences'],
    ],
  ])('is rejected: %s', (_, change, expected) => {
    const { issuer = 'https://desk.example' } = change;
    const config = given(change);
    expect(reasons({ ...config, oidc_config: { ...config.oidc_config, issuer } })).toEqual(expected);
  });

  it('is rejected without an issuer', () => {
    const { issuer: _, ...rest } = given().embedded_auth_server_config ?? {};
    expect(reasons({ ...given(), embedded_auth_server_config: rest })).toEqual([
      'MissingField issuer',
      'IssuerMismatch oidc_config.issuer',
    ]);
  });

  it('lists all problems at once, each with advice', () => {
    const problems = authServerProblems(given({ issuer: 'desk', upstreams: [], storage: { type: 'disk' } }));
    expect(problems.map(({ path }) => path.replace(PREFIX, ''))).toEqual([
      'issuer',
      'upstreams',
      'storage.type',
      'oidc_config.issuer',
    ]);
    for (const { message } of problems) expect(message).toMatch(/write|name|set|must|make/u);
  });
});

describe('the configuration around the authorization server', () => {
  const fits = (change: Partial<GatewayConfig['vmcp']['incoming']>, oidc_config: object = {}): string[] => {
    const config = given();
    const { vmcp } = config;
    return reasons({
      ...config,
      oidc_config: { ...config.oidc_config, ...oidc_config },
      vmcp: { ...vmcp, incoming: { ...vmcp.incoming, ...change } },
    });
  };

  it.each<[string, Parameters<typeof fits>, string[]]>([
    ['anonymous clients', [{ type: 'anonymous' }], ['RuleViolated vmcp.incoming.type']],
    ['tokens of service accounts', [{ source: 'kubernetes' }], ['IssuerMismatch vmcp.incoming.source']],
    ['another issuer', [{}, { issuer: 'https://desk.example/' }], ['IssuerMismatch oidc_config.issuer']],
    ['an audience that is no URL', [{}, { audience: 'desk' }], ['AudienceMismatch oidc_config.audience']],
    [
      'another public URL',
      [{}, { resourceURL: 'https://desk.example/mcp/' }],
      ['AudienceMismatch oidc_config.audience'],
    ],
    [
      'required scopes that are not supported',
      [{ required_scopes: ['openid', 'mcp'] }],
      ['RuleViolated vmcp.incoming.required_scopes[1]'],
    ],
  ])('is rejected with %s', (_, change, expected) => {
    expect(fits(...change)).toEqual(expected);
  });

  it('must have the issuer and the audience of the authorization server', () => {
    expect(fits({ required_scopes: ['openid'] }, { resourceURL: 'https://desk.example/mcp' })).toEqual([]);
  });
});
