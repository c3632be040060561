import { describe, expect, it } from 'vitest';
import type { RunConfig } from '../../../contract/run-config/run-config.ts';
import { OperationError } from '../../../http/endpoint/request-error.ts';
import { serverRunConfig, type ServerSpec } from '../../server-run-config.ts';
import { checkName, desiredWorkload, withDefaults } from './desired-workload.ts';
import { runConfigOfObject } from './edit-object.ts';
import type { DesiredWorkload, WorkloadObject } from './workload-object.ts';

const objectOf = ({ kind, spec, annotations }: DesiredWorkload, name = 'time'): WorkloadObject => {
  const metadata = { name, namespace: 'team', ...(annotations && { annotations }) };
  return { apiVersion: 'vmcp.dev/v1alpha1', kind, metadata, spec } as WorkloadObject;
};

const config = (members: Partial<RunConfig>): RunConfig =>
  withDefaults({ schema_version: 'v0.1.0', name: 'time', ...members });

const SERVER = config({
  image: 'example.org/time:1',
  transport: 'streamable-http',
  proxy_mode: 'streamable-http',
  host: '0.0.0.0',
  port: 9000,
  target_port: 3001,
  group: 'team',
  cmd_args: ['--zone', 'UTC'],
  env_vars: { LEVEL: 'debug', EMPTY: '' },
  secrets: ['api-key,target=API_KEY', 'other/token,target=TOKEN'],
  volumes: ['/srv/data:/data', '/etc/zones:/zones:ro'],
  container_labels: { team: 'blue' },
  permission_profile_name_or_path: 'network',
  endpoint_prefix: '/time',
  trust_proxy_headers: true,
  scaling_config: { backend_replicas: 2 },
  cluster_pod_template_patch: '{"spec":{"nodeSelector":{"disk":"ssd"}}}',
});

const ENTRY = config({
  remote_url: 'https://mcp.example.com/mcp',
  transport: 'sse',
  proxy_mode: 'sse',
  group: 'team',
  header_forward: {
    add_plaintext_headers: { 'X-Team': 'blue' },
    add_headers_from_secret: { 'X-Key': 'api-key', 'X-Other': 'other/token' },
  },
});

/** Members that change nothing of how the server runs. */
const DESCRIPTION: Partial<RunConfig> = {
  registry_server_name: 'com.example/time',
  registry_url: 'https://registry.example/registry.json',
  registry_api_url: 'https://registry.example',
  remote_auth_config: {
    headers: [
      { name: 'X-Key', description: 'Key of the team, "quoted", ünïcode.', required: true, choices: ['a', 'b'] },
    ],
  },
};

describe('a run configuration', () => {
  it('becomes an MCPServer with all of its settings', () => {
    expect(desiredWorkload(SERVER)).toEqual({
      kind: 'MCPServer',
      spec: {
        image: 'example.org/time:1',
        transport: 'streamable-http',
        proxyPort: 9000,
        mcpPort: 3001,
        groupRef: { name: 'team' },
        args: ['--zone', 'UTC'],
        env: [
          { name: 'LEVEL', value: 'debug' },
          { name: 'EMPTY', value: '' },
        ],
        secrets: [
          { name: 'vmcp-management-secrets', key: 'api-key', targetEnvName: 'API_KEY' },
          { name: 'other', key: 'token', targetEnvName: 'TOKEN' },
        ],
        volumes: [
          { name: 'volume-1', hostPath: '/srv/data', mountPath: '/data', readOnly: false },
          { name: 'volume-2', hostPath: '/etc/zones', mountPath: '/zones', readOnly: true },
        ],
        resourceOverrides: { proxyDeployment: { podTemplateMetadataOverrides: { labels: { team: 'blue' } } } },
        permissionProfile: { type: 'builtin', name: 'network' },
        endpointPrefix: '/time',
        trustProxyHeaders: true,
        backendReplicas: 2,
        podTemplateSpec: { spec: { nodeSelector: { disk: 'ssd' } } },
      },
    });
  });

  it('becomes an MCPServerEntry when the server is remote', () => {
    expect(desiredWorkload(ENTRY)).toEqual({
      kind: 'MCPServerEntry',
      spec: {
        groupRef: { name: 'team' },
        remoteUrl: 'https://mcp.example.com/mcp',
        transport: 'sse',
        headerForward: {
          addPlaintextHeaders: { 'X-Team': 'blue' },
          addHeadersFromSecret: [
            { headerName: 'X-Key', valueSecretRef: { name: 'vmcp-management-secrets', key: 'api-key' } },
            { headerName: 'X-Other', valueSecretRef: { name: 'other', key: 'token' } },
          ],
        },
      },
    });
  });

  it.each([
    ['a server with all settings', SERVER],
    ['a remote server with all settings', ENTRY],
    ['a server of a registry', config({ ...SERVER, ...DESCRIPTION })],
    ['a remote server of a registry', config({ ...ENTRY, ...DESCRIPTION })],
    ['a stdio server', config({ image: 'a', transport: 'stdio', proxy_mode: 'sse', host: '0.0.0.0', port: 8080 })],
  ])('of %s is exported as it was imported', (_name, given) => {
    expect(runConfigOfObject(objectOf(desiredWorkload(given)))).toEqual(given);
  });

  it.each([
    ['a server', config({ image: 'a' })],
    ['a remote server', config({ remote_url: 'https://mcp.example.com/mcp' })],
    [
      'a server with local settings',
      config({ image: 'a', base_name: 'time', host: '127.0.0.1', isolate_network: false }),
    ],
    ['an inline profile', config({ image: 'a', permission_profile: { name: 'network' } })],
    ['empty members', config({ image: 'a', tools_filter: [], oidc_config: {}, debug: false, endpoint_prefix: '' })],
  ])('of %s is the same after each further export and import', (_name, given) => {
    const first = runConfigOfObject(objectOf(desiredWorkload(given)));
    expect(runConfigOfObject(objectOf(desiredWorkload(first)))).toEqual(first);
  });
});

it('keeps what only describes a workload in annotations', () => {
  const described = desiredWorkload(config({ ...ENTRY, ...DESCRIPTION }));
  expect(described).toEqual({
    ...desiredWorkload(ENTRY),
    annotations: {
      'management.vmcp.dev/registry-server-name': 'com.example/time',
      'management.vmcp.dev/registry-url': 'https://registry.example/registry.json',
      'management.vmcp.dev/registry-api-url': 'https://registry.example',
      'management.vmcp.dev/headers': JSON.stringify(DESCRIPTION.remote_auth_config?.headers),
    },
  });
  const empty = { registry_server_name: '', registry_url: '', remote_auth_config: { headers: [] } };
  expect(desiredWorkload(config({ ...ENTRY, ...empty }))).toEqual(desiredWorkload(ENTRY));
});

it.each([['no JSON'], ['{"name": "X-Key"}'], ['[{"name": 1}]']])(
  'ignores an annotation with headers that is %s',
  (text) => {
    const annotations = { 'management.vmcp.dev/headers': text };
    expect(runConfigOfObject(objectOf({ ...desiredWorkload(ENTRY), annotations }))).toEqual(ENTRY);
  },
);

it('exports secrets by the key that is the default of their variable', () => {
  const spec = { image: 'a', secrets: [{ name: 'vmcp-management-secrets', key: 'KEY' }] };
  expect(runConfigOfObject(objectOf({ kind: 'MCPServer', spec })).secrets).toEqual(['KEY,target=KEY']);
});

it('keeps the names of volumes that exist', () => {
  const volumes = [{ name: 'volume-2', hostPath: '/old', mountPath: '/data' }];
  const current = objectOf({ kind: 'MCPServer', spec: { image: 'a', volumes } });
  const { spec } = desiredWorkload(config({ image: 'a', volumes: ['/more:/more', '/new:/data', '/c:/c'] }), current);
  const names = 'volumes' in spec && spec.volumes.map(({ name, mountPath }) => `${name} ${mountPath}`);
  expect(names).toEqual(['volume-1 /more', 'volume-2 /data', 'volume-3 /c']);
});

const refused = (task: () => unknown): string => {
  try {
    task();
    return 'accepted';
  } catch (error) {
    return error instanceof OperationError ? (error.detail ?? error.code) : String(error);
  }
};

/** Values for each member that no object of a cluster holds, and the path of the problem. */
const UNSUPPORTED: readonly (readonly [member: keyof RunConfig, value: unknown, path?: string])[] = [
  ['audit_config', { enabled: true }],
  ['audit_config_path', '/audit.json'],
  ['allow_container_gateway', true],
  ['authz_config', { type: 'cedarv1' }],
  ['authz_config_path', '/policy'],
  ['cli_ca_bundle', '/ca.pem'],
  ['cloud_sts_config', { region: 'eu' }],
  ['container_name', 'other'],
  ['base_name', 'other'],
  ['debug', true],
  ['embedded_auth_server_config', { issuer: 'https://as.example' }],
  ['env_file_dir', '/env'],
  ['header_forward', { add_plaintext_headers: { A: 'b' } }],
  ['host', '10.0.0.1'],
  ['ignore_config', { loadGlobal: true }],
  ['isolate_network', true],
  ['jwks_auth_token_file', '/token'],
  ['middleware_configs', [{ type: 'audit' }]],
  ['mutating_webhooks', [{ name: 'a' }]],
  ['oidc_config', { issuer: 'https://idp.example' }],
  ['permission_profile', { name: 'none' }],
  ['permission_profile', { network: { outbound: { allow_host: ['a'] } } }],
  ['permission_profile', { name: 'network', privileged: true }],
  ['permission_profile_name_or_path', 'none'],
  ['publish', ['80:80']],
  ['rate_limit_config', { shared: { maxTokens: 1 } }],
  ['rate_limit_namespace', 'a'],
  ['remote_auth_config', { client_id: 'a' }],
  ['remote_auth_config', { client_id: 'a', headers: [{ name: 'X-Key' }] }],
  ['runtime_config', { builder_image: 'a' }],
  ['scaling_config', { session_kvstore: { address: 'a:1' } }, 'scaling_config.session_kvstore'],
  ['stateless', true],
  ['target_host', 'elsewhere'],
  ['telemetry_config', { endpoint: 'a' }],
  ['token_exchange_config', { token_url: 'https://idp.example' }],
  ['tools_filter', ['a']],
  ['tools_override', { a: { name: 'b' } }],
  ['upstream_swap_config', { provider_name: 'a' }],
  ['validating_webhooks', [{ name: 'a' }]],
];

it.each([
  ['localhost', 8931, 'localhost:8931'],
  ['::1', undefined, '[::1]:8080'],
])('the target host %s with the port %s becomes a Host header, and back', (target_host, target_port, hostHeader) => {
  const port = target_port === undefined ? {} : { target_port };
  const { spec } = desiredWorkload(config({ image: 'a', transport: 'streamable-http', target_host, ...port })) as {
    readonly spec: ServerSpec;
  };
  expect(spec.hostHeader).toBe(hostHeader);
  expect(serverRunConfig({ metadata: { name: 'a' }, spec })).toMatchObject({ target_host });
});

it.each([
  ['authz_config', { type: 'cedarv1' }, 'incomingAuth.authzConfig'],
  ['authz_config_path', '/policy', 'incomingAuth.authzConfig'],
  ['rate_limit_config', { shared: { maxTokens: 1 } }, 'config.rateLimiting'],
  ['telemetry_config', { endpoint: 'a' }, 'telemetryConfigRef'],
  ['mutating_webhooks', [{ name: 'a' }], 'webhookConfigRef'],
  ['validating_webhooks', [{ name: 'a' }], 'webhookConfigRef'],
])('%s is a setting of the VirtualMCPServer', (member, value, field) => {
  const message = refused(() => desiredWorkload(config({ image: 'a', [member]: value })));
  expect(message).toContain(`set ${field} of the VirtualMCPServer`);
});

describe('an MCPServer', () => {
  it.each(UNSUPPORTED.map(([member, value, path = member]) => ({ member, value, path })))(
    'cannot have $path: $value',
    ({ member, value, path }) => {
      const message = refused(() => desiredWorkload(config({ image: 'a', [member]: value })));
      expect([message.slice(0, path.length + 2), message.slice(-18)]).toEqual([`${path}: `, ' [NotSupportedYet]']);
    },
  );

  it.each([
    ['npx://a', {}, 'image'],
    ['a', { transport: 'inspector' }, 'transport'],
    ['a', { target_port: 3000 }, 'target_port'],
    ['a', { transport: 'sse', proxy_mode: 'streamable-http' }, 'proxy_mode'],
    ['a', { volumes: ['data:/data'] }, 'volumes\\[0\\]'],
    ['a', { secrets: ['key'] }, 'secrets\\[0\\]'],
    ['a', { secrets: ['Other/key,target=A'] }, 'secrets\\[0\\]\\.name'],
    ['a', { secrets: ['__sys_registry_token,target=A'] }, 'secrets\\[0\\]\\.name'],
    ['a', { secrets: ['vmcp-management-secrets/__sys_a,target=A'] }, 'secrets\\[0\\]\\.name'],
    ['a', { secrets: ['key,target=A', 'key,target=B'] }, 'secrets\\[1\\]\\.name'],
    ['a', { cluster_pod_template_patch: '[]' }, 'cluster_pod_template_patch'],
    ['a', { cluster_pod_template_patch: '{' }, 'cluster_pod_template_patch'],
  ] as const)('of image %s with %j has a problem in %s', (image, members, path) => {
    const given = config({ image, ...(members as Partial<RunConfig>) });
    expect(refused(() => desiredWorkload(given))).toMatch(new RegExp(`^${path}: `, 'u'));
  });
});

it.each([
  ['image', 'a'],
  ['cmd_args', ['a']],
  ['env_vars', { A: 'b' }],
  ['secrets', ['key,target=A']],
  ['volumes', ['/a:/a']],
  ['port', 9000],
  ['target_port', 9000],
  ['container_labels', { a: 'b' }],
  ['trust_proxy_headers', true],
  ['scaling_config', { backend_replicas: 2 }],
  ['cluster_pod_template_patch', '{}'],
] as const)('an MCPServerEntry cannot have %s', (member, value) => {
  const given = config({ remote_url: 'https://mcp.example.com', [member]: value });
  expect(refused(() => desiredWorkload(given))).toMatch(new RegExp(`^${member}: .* \\[NotSupportedYet\\]$`, 'u'));
});

it('does not turn a server into a remote one', () => {
  const current = objectOf(desiredWorkload(SERVER));
  expect(refused(() => desiredWorkload(ENTRY, current))).toContain('url: ');
});

it.each([
  ['time', 'stdio', /^accepted$/u],
  ['a'.repeat(48), 'stdio', /^accepted$/u],
  ['a'.repeat(49), 'stdio', /at most 48/u],
  ['a'.repeat(52), 'sse', /^accepted$/u],
  ['a'.repeat(53), 'sse', /at most 52/u],
  ['Time', 'stdio', /lower-case/u],
  ['my.time', 'stdio', /lower-case/u],
  ['my_time', 'stdio', /lower-case/u],
  ['-time', 'stdio', /lower-case/u],
  ['', 'stdio', /lower-case/u],
])('judges the name "%s" of a %s server: %s', (name, transport, expected) => {
  expect(refused(() => checkName(config({ name, image: 'a', transport })))).toMatch(expected);
});
