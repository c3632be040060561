import { describe, expect, it } from 'vitest';
import { configFiles } from './contract/gateway-config-files.ts';
import type { Backend, GatewayConfig } from './contract/gateway-config.ts';
import { VMCP } from './contract/testdata/vmcp-config.ts';
import { readGatewayConfig } from './read-gateway-config.ts';
import { RunConfig, SCHEMA_VERSION } from './contract/run-config/run-config.ts';

type Vmcp = GatewayConfig['vmcp'];

const vmcp: Vmcp = {
  ...VMCP,
  backends: [{ name: 'alpha', transport: 'streamable-http', url: 'https://alpha.example/mcp' }],
};
const base: GatewayConfig = { schema_version: SCHEMA_VERSION, vmcp };
const withBackend = (backend: Partial<Backend>): Partial<Vmcp> => ({
  backends: vmcp.backends.map((each) => ({ ...each, ...backend })),
});

/** `reason path` of each problem. */
function refusals(config: object): string[] {
  const read = readGatewayConfig(JSON.stringify(config));
  return 'problems' in read ? read.problems.map(({ reason, path }) => `${reason} ${path}`) : [];
}
const refusalsOf = (change: Partial<Vmcp>): string[] => refusals({ ...base, vmcp: { ...vmcp, ...change } });

/** A value that the schema of a member takes. */
function sample(schema: { type?: string; enum?: unknown[] }): unknown {
  if (schema.enum) return schema.enum[0];
  const values: Record<string, unknown> = { string: 'x', boolean: false, integer: 1, array: [], object: {} };
  return values[schema.type ?? ''];
}

const oidc: NonNullable<GatewayConfig['oidc_config']> = { issuer: 'https://idp.example', audience: 'desk' };
/** `reason path` of what is wrong with a configuration whose callers have tokens. */
const refusalsOfOidc = (change: Partial<typeof oidc>, incoming: Partial<Vmcp['incoming']> = {}): string[] =>
  refusals({
    ...base,
    oidc_config: { ...oidc, ...change },
    vmcp: { ...vmcp, incoming: { type: 'oidc', ...incoming } },
  });

describe('networks of trusted proxies', () => {
  const proxies = (...trusted_proxies: string[]): string[] =>
    refusalsOf({ incoming: { type: 'anonymous', trusted_proxies } });

  it('are required when proxy headers are trusted', () => {
    expect(refusals({ ...base, trust_proxy_headers: true })).toEqual(['MissingField vmcp.incoming.trusted_proxies']);
    expect(proxies('10.0.0.0/8', '192.0.2.7/32', 'fd00::/8', '::1/128', '::ffff:10.0.0.0/104')).toEqual([]);
  });

  it.each([
    '10.0.0.0',
    '10.0.0.0/33',
    '10.0.0/8',
    '256.0.0.1/8',
    'fd00::/129',
    'fd00:::/8',
    'proxy/8',
    '1.2.3.4/',
    '/8',
  ])('are refused when one is %s', (network) => {
    expect(proxies('10.0.0.0/8', network)).toEqual(['InvalidNetwork vmcp.incoming.trusted_proxies[1]']);
  });

  it.each(['0.0.0.0/0', '::/0'])('are refused when one covers all addresses: %s', (network) => {
    expect(proxies(network)).toEqual(['InvalidNetwork vmcp.incoming.trusted_proxies[0]']);
  });
});

describe('a member of the Run configuration', () => {
  const ACCEPTED = [
    'schema_version',
    'name',
    'audit_config',
    'audit_config_path',
    'base_name',
    'container_name',
    'container_labels',
    'group',
    'debug',
    'endpoint_prefix',
    'stateless',
    'scaling_config',
    'telemetry_config',
    'trust_proxy_headers',
    'mutating_webhooks',
    'validating_webhooks',
  ];
  /** Acted on by other tests. */
  const CHECKED = ['authz_config', 'oidc_config', 'embedded_auth_server_config', 'rate_limit_config'];
  const valueOf = (name: string): unknown => sample(RunConfig.properties[name as keyof typeof RunConfig.properties]);

  it.each(Object.keys(RunConfig.properties).filter((name) => !CHECKED.includes(name)))(
    '%s is either supported or refused, even with a minimal value',
    (name) => {
      const expected = ACCEPTED.includes(name) ? [] : [`NotSupportedYet ${name}`];
      expect(refusals({ ...base, [name]: valueOf(name) })).toEqual(expected);
    },
  );

  it('authz_config needs policies that can be used, and users', () => {
    const authz = (policy: string) => ({
      authz_config: { type: 'cedarv1', version: '1.0', cedar: { policies: [policy] } },
    });
    expect(refusals({ ...base, authz_config: {} })).toEqual([
      'MissingField authz_config.type',
      'MissingField authz_config.version',
      'MissingField authz_config.cedar',
      'RuleViolated authz_config',
    ]);
    const users = { ...base, oidc_config: oidc, vmcp: { ...vmcp, incoming: { type: 'oidc' } } };
    expect(refusals({ ...users, ...authz('permit(') })).toEqual(['AuthzInvalid authz_config.cedar.policies[0]']);
    expect(refusals({ ...users, ...authz('permit(principal, action, resource);') })).toEqual([]);
  });

  it('is treated as absent when it is null', () => {
    expect(refusals({ ...base, oidc_config: null, audit_config: null })).toEqual([]);
  });

  it('is refused together with all other unsupported members', () => {
    expect(refusals({ ...base, runtime_config: {}, tools_filter: ['a'] })).toEqual([
      'NotSupportedYet runtime_config',
      'NotSupportedYet tools_filter',
    ]);
  });
});

describe('a webhook', () => {
  const hook = { name: 'audit', url: 'https://hooks.example.com/audit' };
  const refusalsOfHook = (change: object): string[] =>
    refusals({ ...base, validating_webhooks: [{ ...hook, ...change }] });

  it('needs a name and an https URL, and has members within their limits', () => {
    expect(refusalsOfHook({ timeout: 30_000_000_000, failure_policy: 'ignore', hmac_secret_ref: '/etc/key' })).toEqual(
      [],
    );
    expect(refusals({ ...base, mutating_webhooks: [{ timeout: 1 }] })).toEqual([
      'MissingField mutating_webhooks[0].name',
      'MissingField mutating_webhooks[0].url',
      'InvalidValue mutating_webhooks[0].timeout',
    ]);
    expect(refusalsOfHook({ timeout: 30_000_000_001 })).toEqual(['InvalidValue validating_webhooks[0].timeout']);
    expect(refusalsOfHook({ failure_policy: 'open' })).toEqual(['InvalidValue validating_webhooks[0].failure_policy']);
    expect(refusalsOfHook({ url: 'http://hooks.example.com/' })).toEqual(['InsecureUrl validating_webhooks[0].url']);
    expect(refusalsOfHook({ url: 'http://hooks.example.com/', insecure_allow_http: true })).toEqual([]);
    expect(refusalsOfHook({ url: 'https://u:p@hooks.example.com/' })).toEqual([
      'CredentialsInUrl validating_webhooks[0].url',
    ]);
  });

  it('names files by absolute paths, and a certificate with its key', () => {
    expect(refusalsOfHook({ hmac_secret_ref: 'my-secret' })).toEqual([
      'RuleViolated validating_webhooks[0].hmac_secret_ref',
    ]);
    expect(refusalsOfHook({ tls_config: { ca_bundle_path: 'ca.pem' } })).toEqual([
      'RuleViolated validating_webhooks[0].tls_config.ca_bundle_path',
    ]);
    expect(refusalsOfHook({ tls_config: { client_cert_path: '/cert.pem' } })).toEqual([
      'RuleViolated validating_webhooks[0].tls_config',
    ]);
  });

  it('has a name that no other of its list has', () => {
    const validating_webhooks = [hook, hook];
    expect(refusals({ ...base, validating_webhooks, mutating_webhooks: [hook] })).toEqual([
      'RuleViolated validating_webhooks[1].name',
    ]);
  });

  it('of a gateway in a pod names mounted files only', () => {
    const cluster = { backends_config_map: 'b', virtual_mcp_server: 'v', reporting_interval: '5s' };
    const pod = { ...base, vmcp: { ...vmcp, namespace: 'team', backends: [], cluster } };
    const { outgoing_auth: _, ...rest } = pod.vmcp as Vmcp;
    const files = {
      hmac_secret_ref: '/root/key',
      tls_config: { ca_bundle_path: '/a', client_cert_path: '/b', client_key_path: '/etc/vmcp/secrets/c/key' },
    };
    expect(refusals({ ...pod, vmcp: rest, mutating_webhooks: [{ ...hook, ...files }] })).toEqual([
      'PathNotMounted mutating_webhooks[0].hmac_secret_ref',
      'PathNotMounted mutating_webhooks[0].tls_config.ca_bundle_path',
      'PathNotMounted mutating_webhooks[0].tls_config.client_cert_path',
    ]);
  });
});

describe('a duration that no timer can hold', () => {
  const { timeouts, failure_handling: failures } = vmcp.operational;
  const operational = (change: Partial<Vmcp['operational']>) => ({ operational: { ...vmcp.operational, ...change } });
  const failing = (change: Partial<typeof failures>) => operational({ failure_handling: { ...failures, ...change } });

  it.each<[string, (text: string) => Partial<Vmcp>]>([
    ['operational.timeouts.default', (text) => operational({ timeouts: { default: text } })],
    ['operational.timeouts.backend_init', (text) => operational({ timeouts: { ...timeouts, backend_init: text } })],
    [
      'operational.timeouts.per_workload.alpha',
      (text) => operational({ timeouts: { ...timeouts, per_workload: { alpha: text } } }),
    ],
    ['operational.failure_handling.health_check_interval', (text) => failing({ health_check_interval: text })],
    ['operational.failure_handling.health_check_timeout', (text) => failing({ health_check_timeout: text })],
    [
      'operational.failure_handling.circuit_breaker.timeout',
      (text) => failing({ circuit_breaker: { ...failures.circuit_breaker, timeout: text } }),
    ],
    ['session_ttl', (text) => ({ session_ttl: text })],
  ])('is refused at %s', (path, change) => {
    for (const text of ['0s', '999us', '600h']) {
      expect(refusalsOf(change(text))).toEqual([`InvalidDuration vmcp.${path}`]);
    }
    for (const text of ['1ms', '596h']) expect(refusalsOf(change(text))).toEqual([]);
  });
});

describe('a header', () => {
  it.each([
    ['RestrictedHeader', 'cookie'],
    ['RestrictedHeader', 'Mcp-Session-Id'],
    ['RestrictedHeader', 'Content-Type'],
    ['InvalidValue', 'X Y'],
    ['InvalidValue', ''],
  ])('is refused (%s) when its name is %s', (reason, name) => {
    expect(refusalsOf({ passthrough_headers: ['x-ok', name] })).toEqual([`${reason} vmcp.passthrough_headers[1]`]);
    const forward = 'vmcp.backends[0].header_forward';
    expect(refusalsOf(withBackend({ header_forward: { add_plaintext_headers: { [name]: 'v' } } }))).toEqual([
      `${reason} ${forward}.add_plaintext_headers.${name}`,
    ]);
    expect(refusalsOf(withBackend({ header_forward: { add_headers_from_file: { [name]: '/f' } } }))).toEqual([
      `${reason} ${forward}.add_headers_from_file.${name}`,
    ]);
  });

  it('with a credential is accepted only from a file', () => {
    const refused = (member: string, value: string) =>
      refusalsOf(withBackend({ header_forward: { [member]: { Authorization: value } } }));
    const path = 'vmcp.backends[0].header_forward.add_plaintext_headers.Authorization';
    expect(refused('add_plaintext_headers', 'Basic eA==')).toEqual([`RestrictedHeader ${path}`]);
    expect(refusalsOf({ passthrough_headers: ['Authorization'] })).toEqual([
      'RestrictedHeader vmcp.passthrough_headers[0]',
    ]);
    expect(refused('add_headers_from_file', '/f')).toEqual([]);
  });

  it('is refused when HTTP cannot carry its value', () => {
    expect(refusalsOf(withBackend({ header_forward: { add_plaintext_headers: { 'X-Key': 'a\nb' } } }))).toEqual([
      'InvalidHeaderValue vmcp.backends[0].header_forward.add_plaintext_headers.X-Key',
    ]);
  });

  it('with another name is accepted', () => {
    expect(refusalsOf({ ...withBackend({ header_forward: { add_plaintext_headers: { 'X-Key': 'a b' } } }) })).toEqual(
      [],
    );
    expect(refusalsOf({ passthrough_headers: ['X-Request-Id'] })).toEqual([]);
  });
});

describe('backends and aggregation', () => {
  it.each<[string, Partial<Vmcp>, string[]]>([
    [
      'priority without an order',
      { aggregation: { ...vmcp.aggregation, conflict_resolution: 'priority' } },
      ['RuleViolated vmcp.aggregation.priority_order'],
    ],
    [
      'priority with an empty order',
      { aggregation: { ...vmcp.aggregation, conflict_resolution: 'priority', priority_order: [] } },
      ['RuleViolated vmcp.aggregation.priority_order'],
    ],
    [
      'priority with an order',
      { aggregation: { ...vmcp.aggregation, conflict_resolution: 'priority', priority_order: ['alpha'] } },
      [],
    ],
    [
      'two backends of one name',
      { backends: [...vmcp.backends, ...vmcp.backends] },
      ['BackendNameConflict vmcp.backends[1].name'],
    ],
    ['http to another host', withBackend({ url: 'http://alpha.example/mcp' }), ['InsecureUrl vmcp.backends[0].url']],
    [
      'http to a host that looks like this one',
      withBackend({ url: 'http://localhost.evil.example/mcp' }),
      ['InsecureUrl vmcp.backends[0].url'],
    ],
    ['http that is allowed', withBackend({ url: 'http://alpha.example/mcp', insecure_allow_http: true }), []],
    ['http to this machine', withBackend({ url: 'http://127.0.0.1:3000/mcp' }), []],
    ['text that is not a URL', withBackend({ url: 'https://[' }), ['InvalidUrl vmcp.backends[0].url']],
    ['stdio without a process', withBackend({ transport: 'stdio' }), ['MissingField vmcp.backends[0].process']],
    [
      'HTTP without a URL',
      { backends: [{ name: 'a', transport: 'sse', process: { image: 'npx://a' } }] },
      ['MissingField vmcp.backends[0].url'],
    ],
  ])('are checked with %s', (_, change, expected) => {
    expect(refusalsOf(change)).toEqual(expected);
  });
});

describe('incoming authentication', () => {
  it.each<[string, Partial<typeof oidc>, Partial<Vmcp['incoming']>, string[]]>([
    ['an issuer and an audience', {}, {}, []],
    [
      'all requirements for tokens',
      { clientID: 'desk', clientSecretFile: '/secret', scopes: ['a'], resourceURL: 'https://desk.example/mcp' },
      { source: 'inline', required_scopes: ['a'], clock_skew_seconds: 0, require_client_id: true },
      [],
    ],
    ['no audience', { audience: '' }, {}, ['MissingField oidc_config.audience']],
    ['no issuer', { issuer: '' }, {}, ['MissingField oidc_config.issuer']],
    [
      'service account tokens with a discovered issuer',
      { issuer: '' },
      { source: 'kubernetes', service_account: 'agent', namespace: 'team-a', use_cluster_auth: true },
      [],
    ],
    [
      'service account tokens without audience',
      { issuer: '', audience: '' },
      { source: 'kubernetes' },
      ['MissingField oidc_config.audience'],
    ],
    [
      'limits of service accounts with an external issuer',
      {},
      { service_account: 'agent', namespace: 'team-a', use_cluster_auth: false },
      [
        'RuleViolated vmcp.incoming.service_account',
        'RuleViolated vmcp.incoming.namespace',
        'RuleViolated vmcp.incoming.use_cluster_auth',
      ],
    ],
    ['a skew beyond five minutes', {}, { clock_skew_seconds: 301 }, ['InvalidValue vmcp.incoming.clock_skew_seconds']],
    ['a negative skew', {}, { clock_skew_seconds: -1 }, ['InvalidValue vmcp.incoming.clock_skew_seconds']],
    ['a secret in the document', { clientID: 'a', clientSecret: 'x' }, {}, ['SecretInConfig oidc_config.clientSecret']],
    [
      'introspection of tokens',
      { clientID: 'a', clientSecretFile: '/secret' },
      { introspection: { cache_ttl: '5m', allow_missing_audience: true, subject_claim: 'username' } },
      [],
    ],
    ['introspection without secret', {}, { introspection: {} }, ['RuleViolated vmcp.incoming.introspection']],
    [
      'introspection results that are cached for too long',
      { clientID: 'a', clientSecretFile: '/secret' },
      { introspection: { cache_ttl: '301s' } },
      ['InvalidDuration vmcp.incoming.introspection.cache_ttl'],
    ],
    ['a secret without client', { clientSecretFile: '/secret' }, {}, ['MissingField oidc_config.clientID']],
    ['a required client id that is missing', {}, { require_client_id: true }, ['MissingField oidc_config.clientID']],
    ['an issuer over http', { issuer: 'http://idp.example' }, {}, ['InsecureUrl oidc_config.issuer']],
    ['an issuer over http that is allowed', { issuer: 'http://idp.example', insecureAllowHTTP: true }, {}, []],
    ['an issuer on this machine', { issuer: 'http://localhost:9000' }, {}, []],
    [
      'an issuer on a host that looks like this machine',
      { issuer: 'http://127.0.0.1.evil.example' },
      {},
      ['InsecureUrl oidc_config.issuer'],
    ],
    ['keys over http', { jwksurl: 'http://idp.example/keys' }, {}, ['InsecureUrl oidc_config.jwksurl']],
    [
      'introspection over http',
      { introspectionURL: 'http://idp.example/i' },
      {},
      ['InsecureUrl oidc_config.introspectionURL'],
    ],
    ['an issuer that is not a URL', { issuer: 'idp.example' }, {}, ['InvalidUrl oidc_config.issuer']],
    ['keys in a file', { jwksurl: 'file:///keys' }, {}, ['InvalidUrl oidc_config.jwksurl']],
    ['keys behind a password', { jwksurl: 'https://a:b@idp.example' }, {}, ['CredentialsInUrl oidc_config.jwksurl']],
    ['a resource over http', { resourceURL: 'http://desk.example/mcp' }, {}, []],
    [
      'a resource with fragment',
      { resourceURL: 'https://desk.example/mcp#a' },
      {},
      ['InvalidUrl oidc_config.resourceURL'],
    ],
    ['a resource that is a name', { resourceURL: 'desk' }, {}, ['InvalidUrl oidc_config.resourceURL']],
  ])('is checked with %s', (_, change, incoming, expected) => {
    expect(refusalsOfOidc(change, incoming)).toEqual(expected);
  });

  it('requires oidc_config in mode oidc', () => {
    expect(refusalsOf({ incoming: { type: 'oidc' } })).toEqual(['MissingField oidc_config']);
  });

  it('refuses access control settings in anonymous mode', () => {
    expect(refusals({ ...base, oidc_config: oidc })).toEqual(['RuleViolated oidc_config']);
    const controls: Partial<Vmcp['incoming']> = {
      source: 'inline',
      required_scopes: ['a'],
      clock_skew_seconds: 30,
      require_client_id: false,
      introspection: {},
      service_account: 'agent',
      namespace: 'team-a',
      use_cluster_auth: true,
    };
    expect(refusalsOf({ incoming: { type: 'anonymous', ...controls } })).toEqual(
      Object.keys(controls).map((member) => `RuleViolated vmcp.incoming.${member}`),
    );
  });

  it('reports problems without secrets', () => {
    const read = readGatewayConfig(
      JSON.stringify({
        ...base,
        oidc_config: { ...oidc, clientSecret: 'canary', jwksurl: 'https://canary:canary@idp.example' },
        vmcp: { ...vmcp, incoming: { type: 'oidc' } },
      }),
    );
    expect(JSON.stringify(read)).not.toContain('canary');
    expect('problems' in read && read.problems.length).toBe(2);
  });
});

describe('a credential for a backend', () => {
  const exchange = { type: 'token_exchange', token_url: 'https://idp.example/token' };
  const key = { type: 'header_injection', header_name: 'X-Api-Key', header_value_file: '/key' };
  const inject = { type: 'upstream_inject', provider_name: 'corp' };
  const stdio = { name: 'stdio', transport: 'stdio', process: { image: 'npx://a' } } as const;
  const backends = [...vmcp.backends, stdio];
  const of = (entry: unknown, more: object = { oidc_config: oidc }, incoming: object = { type: 'oidc' }): string[] =>
    refusals({ ...base, ...more, vmcp: { ...vmcp, backends, incoming, outgoing_auth: { alpha: entry } } });
  const anonymous = (entry: unknown): string[] => of(entry, {}, { type: 'anonymous' });
  const ENTRY = 'vmcp.outgoing_auth.alpha';

  it.each([exchange, key, { type: 'unauthenticated' }])('is accepted: $type', (entry) => {
    expect(of(entry)).toEqual([]);
  });

  it.each<[string, unknown, string[]]>([
    ['without a type', {}, ['MissingField vmcp.outgoing_auth.alpha.type']],
    ['of an unknown type', { type: 'tokenExchange' }, [`InvalidValue ${ENTRY}.type`]],
    ['without a required field', { type: 'token_exchange' }, [`MissingField ${ENTRY}.token_url`]],
    ['with an unknown member', { ...exchange, tokenurl: 'x' }, [`UnknownField ${ENTRY}.tokenurl`]],
    ['with a member of another type', { ...exchange, scopes: 'read' }, [`InvalidType ${ENTRY}.scopes`]],
    ['in a header of the protocol', { ...key, header_name: 'Content-Type' }, [`RestrictedHeader ${ENTRY}.header_name`]],
    ['in a header of the connection', { ...key, header_name: 'Host' }, [`RestrictedHeader ${ENTRY}.header_name`]],
    ['in a header with an invalid name', { ...key, header_name: 'X Y' }, [`InvalidValue ${ENTRY}.header_name`]],
    [
      'from an endpoint over http',
      { ...exchange, token_url: 'http://idp.example' },
      [`InsecureUrl ${ENTRY}.token_url`],
    ],
    ['from an invalid URL', { ...exchange, token_url: 'idp' }, [`InvalidUrl ${ENTRY}.token_url`]],
    [
      'of an upstream provider without an authorization server',
      inject,
      [`OutgoingAuthNeedsAuthServer ${ENTRY}.provider_name`],
    ],
    [
      'exchanged for an upstream token without an authorization server',
      { ...exchange, subject_provider_name: 'corp' },
      [`OutgoingAuthNeedsAuthServer ${ENTRY}.subject_provider_name`],
    ],
  ])('is refused: %s', (_, entry, expected) => {
    expect(of(entry)).toEqual(expected);
  });

  it('requires authenticated users when it is issued per user', () => {
    expect(anonymous(exchange)).toEqual([`OutgoingAuthNeedsUser ${ENTRY}.type`]);
    expect(anonymous(key)).toEqual([]);
  });

  it('requires a provider that the embedded authorization server knows', () => {
    const corp = { issuer_url: 'https://idp.example', client_id: 'desk' };
    const config = {
      issuer: 'https://desk.example',
      allowed_audiences: ['https://desk.example/mcp'],
      upstreams: [{ name: 'corp', type: 'oidc', oidc_config: corp }],
    };
    const accepted = { issuer: 'https://desk.example', audience: 'https://desk.example/mcp' };
    const server = { embedded_auth_server_config: config, oidc_config: accepted };
    expect(of(inject, server)).toEqual([]);
    expect(of({ ...inject, provider_name: 'git' }, server)).toEqual([`UpstreamProviderUnknown ${ENTRY}.provider_name`]);
    const keptIn = { ...server, embedded_auth_server_config: { ...config, disable_upstream_token_injection: true } };
    expect(of(inject, keptIn)).toEqual([`UpstreamTokensDisabled ${ENTRY}`]);
    expect(of({ ...exchange, subject_provider_name: 'corp' }, keptIn)).toEqual([`UpstreamTokensDisabled ${ENTRY}`]);
    expect(of(exchange, keptIn)).toEqual([]);
  });

  it('requires a known backend that receives HTTP requests', () => {
    const outgoing = (entries: object) =>
      refusalsOf({ backends, outgoing_auth: entries as Vmcp['outgoing_auth'] & {} });
    expect(outgoing({ alpah: key })).toEqual(['UnknownBackend vmcp.outgoing_auth.alpah']);
    expect(outgoing({ stdio: key })).toEqual(['OutgoingAuthOnStdio vmcp.outgoing_auth.stdio']);
    expect(outgoing({ stdio: { type: 'unauthenticated' } })).toEqual([]);
    const role = 'arn:aws:iam::123456789012:role/reader';
    const cloud = { type: 'cloud_sts', region: 'eu-west-1', fallback_role_arn: role };
    const withSse = [...backends, { name: 'events', transport: 'sse', url: 'https://events.example/sse' } as const];
    const config = { ...base, oidc_config: oidc };
    const signed = { ...vmcp, incoming: { type: 'oidc' }, backends: withSse } as Vmcp;
    expect(refusals({ ...config, vmcp: { ...signed, outgoing_auth: { alpha: cloud } } })).toEqual([]);
    expect(refusals({ ...config, vmcp: { ...signed, outgoing_auth: { events: cloud } } })).toEqual([
      'OutgoingAuthOnSse vmcp.outgoing_auth.events',
    ]);
    expect(
      refusalsOf({ outgoing_auth: JSON.parse('{"__proto__":{"type":"unauthenticated"}}') as object as never }),
    ).toEqual(['UnknownBackend vmcp.outgoing_auth.__proto__']);
  });

  it('is returned without members that are null', () => {
    const outgoing_auth = { alpha: { ...exchange, audience: null } };
    const config = { ...base, oidc_config: oidc, vmcp: { ...vmcp, incoming: { type: 'oidc' }, outgoing_auth } };
    const read = readGatewayConfig(JSON.stringify(config));
    expect('config' in read && read.config.vmcp.outgoing_auth).toEqual({ alpha: exchange });
  });
});

describe('configFiles', () => {
  it('lists every file for incoming authentication and backend credentials', () => {
    const config: GatewayConfig = {
      ...base,
      oidc_config: { clientSecretFile: '/secret', authTokenFile: '/token', cacertPath: '/ca' },
      vmcp: {
        ...vmcp,
        outgoing_auth: {
          alpha: { type: 'token_exchange', token_url: 'https://idp.example', client_secret_file: '/exchange' },
          beta: { type: 'header_injection', header_name: 'X-Key', header_value_file: '/key' },
        },
      },
    };
    expect(configFiles(config)).toEqual([
      { path: 'oidc_config.clientSecretFile', file: '/secret' },
      { path: 'oidc_config.authTokenFile', file: '/token' },
      { path: 'oidc_config.cacertPath', file: '/ca' },
      { path: 'vmcp.outgoing_auth.alpha.client_secret_file', file: '/exchange' },
      { path: 'vmcp.outgoing_auth.beta.header_value_file', file: '/key' },
    ]);
  });

  it('lists every file of a backend with its path in the configuration', () => {
    const backend: Partial<Backend> = {
      ca_bundle_file: '/ca.crt',
      header_forward: { add_headers_from_file: { 'X-Key': '/key' } },
      process: { image: 'npx://a', env_var_files: { TOKEN: '/token' } },
    };
    expect(configFiles({ ...base, vmcp: { ...vmcp, ...withBackend(backend) } })).toEqual([
      { path: 'vmcp.backends[0].ca_bundle_file', file: '/ca.crt' },
      { path: 'vmcp.backends[0].header_forward.add_headers_from_file.X-Key', file: '/key' },
      { path: 'vmcp.backends[0].process.env_var_files.TOKEN', file: '/token' },
    ]);
    expect(configFiles(base)).toEqual([]);
  });

  it('lists every file of the embedded authorization server', () => {
    const embedded_auth_server_config = {
      signing_key_config: { key_dir: '/keys', signing_key_file: 'new.pem', fallback_key_files: ['old.pem'] },
      hmac_secret_files: ['/hmac'],
      upstreams: [
        { type: 'oidc', oidc_config: { client_secret_file: '/corp', ca_file: '/corp.crt' } },
        { type: 'oauth2', oauth2_config: { client_secret_file: '/git' } },
      ],
      storage: {
        type: 'kvstore',
        kvstore_config: {
          acl_user_config: { password_file: '/password', username_file: '/user' },
          tls: { ca_cert_file: '/store.crt' },
          sentinel_tls: { ca_cert_file: '/sentinel.crt' },
        },
      },
    };
    const files = configFiles({ ...base, embedded_auth_server_config });
    expect(files.map(({ path, file }) => `${path.replace('embedded_auth_server_config.', '')} ${file}`)).toEqual([
      'signing_key_config.signing_key_file /keys/new.pem',
      'signing_key_config.fallback_key_files[0] /keys/old.pem',
      'hmac_secret_files[0] /hmac',
      'upstreams[0].oidc_config.client_secret_file /corp',
      'upstreams[0].oidc_config.ca_file /corp.crt',
      'upstreams[1].oauth2_config.client_secret_file /git',
      'storage.kvstore_config.acl_user_config.password_file /password',
      'storage.kvstore_config.acl_user_config.username_file /user',
      'storage.kvstore_config.tls.ca_cert_file /store.crt',
      'storage.kvstore_config.sentinel_tls.ca_cert_file /sentinel.crt',
    ]);
  });
});
