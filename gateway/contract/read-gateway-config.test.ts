import { describe, expect, it } from 'vitest';
import { configFiles } from './gateway-config-files.ts';
import type { Backend, GatewayConfig } from './gateway-config.ts';
import { readGatewayConfig } from './read-gateway-config.ts';
import { RunConfig, SCHEMA_VERSION } from './run-config.ts';

type Vmcp = GatewayConfig['vmcp'];

const vmcp: Vmcp = {
  incoming: { type: 'anonymous' },
  backends: [{ name: 'alpha', transport: 'streamable-http', url: 'https://alpha.example/mcp' }],
  aggregation: { conflict_resolution: 'prefix', prefix_format: '{workload}_', default_tool_visibility: 'allow' },
  operational: {
    timeouts: { default: '30s' },
    failure_handling: {
      health_check_interval: '30s',
      health_check_timeout: '10s',
      unhealthy_threshold: 3,
      circuit_breaker: { enabled: false, failure_threshold: 5, timeout: '60s' },
    },
  },
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

describe('a member of the Run configuration', () => {
  const ACCEPTED = ['schema_version', 'name', 'base_name', 'container_name', 'container_labels', 'group', 'debug'];
  const valueOf = (name: string): unknown =>
    name === 'embedded_auth_server_config'
      ? { schema_version: SCHEMA_VERSION }
      : sample(RunConfig.properties[name as keyof typeof RunConfig.properties]);

  it.each(Object.keys(RunConfig.properties))('%s is acted on, or refused even when it asks for little', (name) => {
    const expected = ACCEPTED.includes(name) ? [] : [`NotSupportedYet ${name}`];
    expect(refusals({ ...base, [name]: valueOf(name) })).toEqual(expected);
  });

  it('that is null counts as absent', () => {
    expect(refusals({ ...base, oidc_config: null })).toEqual([]);
  });

  it('is refused beside others, all at once', () => {
    expect(refusals({ ...base, oidc_config: {}, tools_filter: ['a'] })).toEqual([
      'NotSupportedYet oidc_config',
      'NotSupportedYet tools_filter',
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
    ['RestrictedHeader', 'Authorization'],
    ['RestrictedHeader', 'cookie'],
    ['RestrictedHeader', 'Mcp-Session-Id'],
    ['RestrictedHeader', 'Content-Type'],
    ['InvalidValue', 'X Y'],
    ['InvalidValue', ''],
  ])('is refused (%s) where it is %s', (reason, name) => {
    expect(refusalsOf({ passthrough_headers: ['x-ok', name] })).toEqual([`${reason} vmcp.passthrough_headers[1]`]);
    const forward = 'vmcp.backends[0].header_forward';
    expect(refusalsOf(withBackend({ header_forward: { add_plaintext_headers: { [name]: 'v' } } }))).toEqual([
      `${reason} ${forward}.add_plaintext_headers.${name}`,
    ]);
    expect(refusalsOf(withBackend({ header_forward: { add_headers_from_file: { [name]: '/f' } } }))).toEqual([
      `${reason} ${forward}.add_headers_from_file.${name}`,
    ]);
  });

  it('is refused where HTTP cannot carry its value', () => {
    expect(refusalsOf(withBackend({ header_forward: { add_plaintext_headers: { 'X-Key': 'a\nb' } } }))).toEqual([
      'InvalidHeaderValue vmcp.backends[0].header_forward.add_plaintext_headers.X-Key',
    ]);
  });

  it('of another name passes', () => {
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
    ['incoming oidc', { incoming: { type: 'oidc' } }, ['NotSupportedYet vmcp.incoming.type']],
    [
      'two backends of one name',
      { backends: [...vmcp.backends, ...vmcp.backends] },
      ['BackendNameConflict vmcp.backends[1].name'],
    ],
    ['text that is no URL', withBackend({ url: 'https://[' }), ['InvalidUrl vmcp.backends[0].url']],
    ['stdio without a process', withBackend({ transport: 'stdio' }), ['MissingField vmcp.backends[0].process']],
    [
      'HTTP without a URL',
      { backends: [{ name: 'a', transport: 'sse', process: { image: 'npx://a' } }] },
      ['MissingField vmcp.backends[0].url'],
    ],
  ])('%s', (_, change, expected) => {
    expect(refusalsOf(change)).toEqual(expected);
  });
});

describe('configFiles', () => {
  it('names every file that is read for a backend, with the place of its name', () => {
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
});
