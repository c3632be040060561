import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { RunConfig } from '../../gateway/contract/run-config/run-config.ts';
import { freePort } from '../harness/free-port.ts';
import { testScope } from '../harness/scope.ts';
import { startServe } from '../harness/serve.ts';
import { temporaryFolder } from '../harness/vmcp.ts';

interface Shape {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly patternProperties?: Readonly<Record<string, Shape>>;
  readonly items?: Shape;
}

type Document = Record<string, unknown>;

const WEBHOOKS = [
  {
    ...{ name: 'hook', url: 'https://hooks.example/', timeout: 2_000_000_000, failure_policy: 'ignore' },
    ...{ hmac_secret_ref: '/etc/vmcp/hmac', claims: ['team'], allow_private_ips: true, insecure_allow_http: true },
    tls_config: {
      ...{ ca_bundle_path: '/etc/vmcp/ca', client_cert_path: '/etc/vmcp/cert', client_key_path: '/etc/vmcp/key' },
      insecure_skip_verify: true,
    },
  },
];

const ROLE = 'arn:aws:iam::123456789012:role/bench';

/** Values of members that accept some words only, by their paths. */
const VALUES: Readonly<Record<string, unknown>> = {
  transport: 'stdio',
  proxy_mode: 'sse',
  host: '127.0.0.1',
  group: 'default',
  image: 'registry.example/server:1',
  target_host: '127.0.0.1',
  endpoint_prefix: '/servers/a',
  secrets: ['one,target=ONE', 'two,target=TWO'],
  volumes: ['/data:/data:ro'],
  publish: ['8080:80'],
  tools_override: { echo: { name: 'say', description: 'Repeats.' }, sum: { name: 'add', description: 'Adds.' } },
  middleware_configs: [{ type: 'mcp-parser', parameters: { any: [1, null, { deep: 'text' }] } }],
  'embedded_auth_server_config.refresh_grace_seconds': 30,
  'permission_profile.network.mode': 'bridge',
  'permission_profile.privileged': false,
  'permission_profile.read': ['/models'],
  'permission_profile.write': ['/work'],
  'permission_profile.network.outbound.allow_host': ['.example.com'],
  'permission_profile.network.inbound.allow_host': ['localhost'],
  'audit_config.eventTypes': ['mcp_tool_call'],
  'audit_config.excludeEventTypes': ['mcp_ping'],
  'audit_config.logFile': '/var/log/vmcp/audit.log',
  audit_config_path: '/etc/vmcp/audit.json',
  cluster_pod_template_patch: '{"spec":{}}',
  'package.command': 'tool',
  'package.with': ['other==1.0'],
  'package.python': '3.12',
  working_dir: '/work',
  'authz_config.type': 'cedarv1',
  'authz_config.version': '1.0',
  'authz_config.cedar.policies': ['permit(principal, action, resource);'],
  'authz_config.cedar.entities_json': '[]',
  'authz_config.cedar.group_entity_type': 'Team',
  'authz_config.cedar.primary_upstream_provider': 'text of embedded_auth_server_config.upstreams.name',
  'cloud_sts_config.region': 'eu-central-1',
  'cloud_sts_config.fallback_role_arn': ROLE,
  'cloud_sts_config.role_mappings': [
    { claim: 'admins', role_arn: ROLE, priority: 1 },
    { matcher: 'claims.staff', role_arn: ROLE },
  ],
  authz_config_path: '/etc/vmcp/policy.yaml',
  'rate_limit_config.storeUnavailable': 'closed',
  'telemetry_config.endpoint': 'https://otel.example:4318',
  'telemetry_config.samplingRate': '0.5',
  'telemetry_config.environmentVariables': ['REGION'],
  'telemetry_config.headers': { 'X-Tenant': 'a' },
  'telemetry_config.headerFiles': { 'X-Key': '/etc/vmcp/otel-key' },
  mutating_webhooks: WEBHOOKS,
  validating_webhooks: WEBHOOKS,
};

/** Members of a login, which only a remote server has; an image cannot have them. */
const REMOTE: Readonly<Record<string, unknown>> = {
  ...{ remote_url: 'https://mcp.example/mcp?tenant=1', transport: 'streamable-http', proxy_mode: 'streamable-http' },
  target_host: 'mcp.example',
  header_forward: { add_plaintext_headers: { 'X-A': 'b' }, add_headers_from_secret: { 'X-B': 'one' } },
};
// settings and a file with settings exclude each other: of the audit log, and of the policies
const FILES = ['audit_config_path', 'authz_config_path'];
const ONLY_REMOTE = new Set(['remote_url', 'header_forward', 'remote_auth_config', 'cloud_sts_config', ...FILES]);
const ONLY_IMAGE = new Set(['image', 'volumes', 'publish', 'container_labels', 'audit_config', 'authz_config']);
/** Members of packages and programs, which run without a container. */
const WITHOUT_CONTAINER = ['package', 'working_dir'];
/** Members that every export has. */
const DEFAULTS = { image: '', host: '127.0.0.1', permission_profile: null, proxy_mode: 'streamable-http' };
/** The members that they share with all others. */
const SHARED = ['schema_version', 'runtime_config', 'transport', 'group', 'env_vars', 'cmd_args'];

/** Credentials of a remote server, which has one of them. */
const TOKENS = new Set(['token_exchange_config', 'upstream_swap_config']);

/** Returns a value for every leaf below a schema. */
function sample(shape: Shape, path: string, values: Readonly<Record<string, unknown>>): unknown {
  if (Object.hasOwn(values, path)) return values[path];
  if (shape.enum) return shape.enum[0];
  if (shape.pattern) return '1m30s';
  if (shape.items) return [sample(shape.items, path, values)];
  const [free] = Object.values(shape.patternProperties ?? {});
  if (free) return { FIRST: sample(free, path, values), SECOND: sample(free, path, values) };
  if (shape.type === 'boolean') return true;
  if (shape.type === 'integer') return 2_000;
  if (shape.type === 'object') return members(shape, path, values);
  if (/(?:client_?secret|bearer_token)$/iu.test(path)) return 'one,target=header';
  return /(?:url|issuer|endpoint|resource|uri)s?$/iu.test(path) ? `https://example.com/${path}` : `text of ${path}`;
}

const members = ({ properties = {} }: Shape, path: string, values: Readonly<Record<string, unknown>>): Document =>
  Object.fromEntries(
    Object.entries(properties).map(([name, shape]) => [
      name,
      sample(shape, path === '' ? name : `${path}.${name}`, values),
    ]),
  );

const without = (document: Document, names: ReadonlySet<string>): Document =>
  Object.fromEntries(Object.entries(document).filter(([name]) => !names.has(name)));

it('exports what it imported, for every field of the run configuration', async () => {
  const { send } = await startServe(testScope(), await temporaryFolder(testScope()));
  const schema = RunConfig as Shape;
  const place = async (name: string) => ({ name, base_name: name, port: await freePort() });
  const all = members(schema, '', VALUES);
  const image = { ...without(all, new Set([...ONLY_REMOTE, ...WITHOUT_CONTAINER])), ...(await place('image')) };
  const remote = {
    ...without(members(schema, '', { ...VALUES, ...REMOTE }), new Set([...ONLY_IMAGE, ...WITHOUT_CONTAINER])),
    ...(await place('remote')),
  };
  const shared = Object.fromEntries(SHARED.map((name) => [name, all[name]]));
  const packaged = { ...shared, image: 'uvx://tool==1.0', package: all['package'], ...(await place('packaged')) };
  const program = { ...shared, image: 'command://tool', working_dir: '/work', ...(await place('program')) };
  const { cloud_sts_config: _, ...exchanging } = remote as Document;
  const signing = { ...without(remote, TOKENS), ...(await place('signing')) };
  const documents = [image, exchanging, signing, packaged, program] as (Document & { name: string })[];
  expect(Object.keys(Object.assign({}, ...documents) as Document).toSorted()).toEqual(
    Object.keys(RunConfig.properties).toSorted(),
  );
  for (const document of documents) {
    const { name } = document;
    const imported = await send('POST', '/workloads/import', document);
    expect(imported.text).toContain(`"name":"${name}"`);
    const exported = (await send('GET', `/workloads/${name}/export`)).json as Document;
    expect(exported).toEqual({ ...DEFAULTS, ...document });
    await expect
      .poll(async () => (await send('GET', `/workloads/${name}/status`)).json)
      .toMatchObject({
        status: 'error',
        status_context: expect.stringContaining('does not act on runtime_config yet') as string,
      });
    const again = { ...exported, name: `${name}-2`, base_name: `${name}-2`, port: await freePort() };
    expect((await send('POST', '/workloads/import', again)).status).toBe(201);
    expect((await send('GET', `/workloads/${name}-2/export`)).json).toEqual(again);
  }
});

it('keeps the isolation of a container in exports and settings, on and off', async () => {
  const { send } = await startServe(testScope(), await temporaryFolder(testScope()));
  const image = 'registry.example/server:1';
  const host = { permission_profile: { network: { mode: 'host' } }, isolate_network: false };
  for (const [name, document, isOn] of [
    ['unnamed', {}, true],
    ['off', host, false],
  ] as const) {
    const given = { name, image, transport: 'stdio', ...document };
    expect(await send('POST', '/workloads/import', given)).toMatchObject({ status: 201 });
    expect((await send('GET', `/workloads/${name}`)).json).toMatchObject({ network_isolation: isOn });
    const exported = (await send('GET', `/workloads/${name}/export`)).json as Document;
    expect(exported).toMatchObject({ isolate_network: isOn });
    const copy = { ...exported, name: `${name}-2`, base_name: `${name}-2`, port: await freePort() };
    expect(await send('POST', '/workloads/import', copy)).toMatchObject({ status: 201 });
    expect((await send('GET', `/workloads/${name}-2/export`)).json).toEqual(copy);
  }
});

it('keeps secret values out of exports and records, also in middlewares', async () => {
  const scope = testScope();
  const state = await temporaryFolder(scope);
  const serve = await startServe(scope, state, [], { env: { VMCP_SECRETS_PASSWORD: 'of-the-test' } });
  const { send } = serve;
  await send('POST', '/secrets', { provider_type: 'encrypted' });
  const exchange = { token_url: 'https://i.example/token', client_id: 'vmcp', client_secret: 'val-4711' };
  const hook = { name: 'w', url: 'https://hooks.example/' };
  const config = {
    ...{ schema_version: 'v0.1.0', name: 'a', remote_url: 'https://mcp.example/mcp', transport: 'streamable-http' },
    middleware_configs: [
      { type: 'auth', parameters: { oidc_config: { issuer: 'https://i.example', clientSecret: 'val-4712' } } },
      { type: 'tokenexchange', parameters: { token_exchange_config: exchange } },
      { type: 'header-forward', parameters: { add_headers: { Authorization: 'val-4713' } } },
      { type: 'validating-webhook', parameters: { webhooks: [{ ...hook, hmac_secret_ref: 'hook,target=key' }] } },
    ],
  };
  expect((await send('POST', '/workloads/import', config)).status).toBe(201);
  const exported = await send('GET', '/workloads/a/export');
  expect(exported.json).toMatchObject({
    middleware_configs: [
      { parameters: { oidc_config: { clientSecret: '@oidc-client-secret,target=clientSecret' } } },
      { parameters: { token_exchange_config: { client_secret: '@exchange-client-secret,target=client_secret' } } },
      { type: 'header-forward', parameters: {} },
      { type: 'validating-webhook', parameters: { webhooks: [{ ...hook, hmac_secret_ref: 'hook,target=key' }] } },
    ],
  });
  expect(exported.text + (await send('GET', '/workloads/a')).text + serve.output()).not.toContain('val-471');
  expect(spawnSync('grep', ['-r', 'val-471', state]).status).toBe(1);
  const differing = { ...config, name: 'b', token_exchange_config: { ...exchange, client_secret: 'other' } };
  expect(await send('POST', '/workloads/import', differing)).toMatchObject({
    status: 400,
    text: expect.stringContaining('differs from token_exchange_config') as string,
  });
});
