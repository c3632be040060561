import { describe, expect, it } from 'vitest';
import { readGatewayConfig, withDiscoveredBackends } from '../read-gateway-config.ts';
import type { Backend, GatewayConfig } from './gateway-config.ts';
import { VMCP } from './testdata/vmcp-config.ts';

const cluster = {
  backends_config_map: 'desk-vmcp-backends',
  virtual_mcp_server: 'desk',
  reporting_interval: '30s',
};
const base: GatewayConfig = { schema_version: 'v0.1.0', name: 'desk', vmcp: { ...VMCP, namespace: 'team', cluster } };
const alpha: Backend = { name: 'alpha', transport: 'streamable-http', url: 'https://alpha.example/mcp' };
const attached: Backend = {
  name: 'files',
  transport: 'stdio',
  attach: { pod: 'mcp-files-0', container: 'mcp' },
  isolation: 'shared',
};

type Read = ReturnType<typeof readGatewayConfig>;
const refusals = (read: Read): string[] =>
  'problems' in read ? read.problems.map(({ reason, path }) => `${reason} ${path}`) : [];
const startedWith = (vmcp: Partial<GatewayConfig['vmcp']>): string[] =>
  refusals(readGatewayConfig(JSON.stringify({ ...base, vmcp: { ...base.vmcp, ...vmcp } })));
const together = (document: unknown, config = base): Read => withDiscoveredBackends(config, JSON.stringify(document));

describe('a configuration whose backends come from the cluster', () => {
  it('is valid without backends and refused with backends of its own', () => {
    expect(startedWith({})).toEqual([]);
    expect(startedWith({ backends: [alpha] })).toEqual(['RuleViolated vmcp.backends']);
    expect(startedWith({ outgoing_auth: {} })).toEqual(['RuleViolated vmcp.outgoing_auth']);
    expect(startedWith({ aggregation: { ...VMCP.aggregation, backend_tools: {} } })).toEqual([
      'RuleViolated vmcp.aggregation.backend_tools',
    ]);
  });

  it('requires a namespace, a virtual server and a positive reporting interval', () => {
    const { namespace: _, ...rest } = base.vmcp;
    expect(refusals(readGatewayConfig(JSON.stringify({ ...base, vmcp: rest })))).toEqual([
      'MissingField vmcp.namespace',
    ]);
    expect(startedWith({ cluster: { ...cluster, reporting_interval: '0s' } })).toEqual([
      'InvalidDuration vmcp.cluster.reporting_interval',
    ]);
    expect(startedWith({ cluster: { ...cluster, virtual_mcp_server: '' } })).toEqual([
      'InvalidValue vmcp.cluster.virtual_mcp_server',
    ]);
  });

  it('is combined with the document of backends and keeps its cluster settings', () => {
    const outgoing_auth = { alpha: { type: 'unauthenticated' } };
    expect(together({ schema_version: 'v0.1.0', backends: [alpha], outgoing_auth })).toEqual({
      config: { ...base, vmcp: { ...base.vmcp, backends: [alpha], outgoing_auth } },
    });
    const backend_tools = { alpha: { filter: ['search'] } };
    expect(together({ schema_version: 'v0.1.0', backends: [alpha], backend_tools })).toEqual({
      config: {
        ...base,
        vmcp: { ...base.vmcp, backends: [alpha], aggregation: { ...base.vmcp.aggregation, backend_tools } },
      },
    });
    expect(together({ schema_version: 'v0.1.0', backends: [] })).toEqual({ config: base });
  });

  it.each([
    [{ backends: [] }, 'MissingField schema_version'],
    [{ schema_version: 'v9', backends: [] }, 'UnknownSchemaVersion schema_version'],
    [{ schema_version: 'v0.1.0' }, 'MissingField vmcp.backends'],
    [
      { schema_version: 'v0.1.0', backends: [], backend_tools: { a: { filters: [] } } },
      'UnknownField vmcp.aggregation.backend_tools.a.filters',
    ],
    [{ schema_version: 'v0.1.0', backends: [{ ...alpha, port: 1 }] }, 'UnknownField vmcp.backends[0].port'],
    [{ schema_version: 'v0.1.0', backends: [alpha, alpha] }, 'BackendNameConflict vmcp.backends[1].name'],
    [
      { schema_version: 'v0.1.0', backends: [alpha], outgoing_auth: { alpha: { type: 'upstream_inject' } } },
      'MissingField vmcp.outgoing_auth.alpha.provider_name',
    ],
    [
      { schema_version: 'v0.1.0', backends: [], outgoing_auth: { gone: { type: 'unauthenticated' } } },
      'UnknownBackend vmcp.outgoing_auth.gone',
    ],
    [[], 'InvalidType '],
  ])('is refused when the document of backends is invalid: %j', (document, refusal) => {
    expect(refusals(together(document))).toContain(refusal);
  });

  const headerFrom = (file: string): Backend => ({
    ...alpha,
    header_forward: { add_headers_from_file: { 'X-Key': file } },
  });
  const documentOf = (...backends: Backend[]) => ({ schema_version: 'v0.1.0', backends });

  it.each([
    '/var/run/secrets/kubernetes.io/serviceaccount/token',
    '/etc/vmcp/secrets/../config.json',
    '/etc/vmcp/secrets/./a/b',
    '/etc/vmcp/secrets//a/b',
    '/etc/vmcp/secrets-of-others/a',
    'etc/vmcp/secrets/a/b',
    '/proc/self/environ',
  ])('is refused when a backend reads a file outside of the mounted folders: %s', (file) => {
    const place = 'PathNotMounted vmcp.backends[0]';
    expect(refusals(together(documentOf(headerFrom(file))))).toEqual([
      `${place}.header_forward.add_headers_from_file.X-Key`,
    ]);
    expect(refusals(together(documentOf({ ...alpha, ca_bundle_file: file })))).toEqual([`${place}.ca_bundle_file`]);
    const outgoing_auth = { alpha: { type: 'header_injection', header_name: 'X-Key', header_value_file: file } };
    expect(refusals(together({ ...documentOf(alpha), outgoing_auth }))).toEqual([
      'PathNotMounted vmcp.outgoing_auth.alpha.header_value_file',
    ]);
  });

  it('is accepted when a backend reads files that the operator mounts', () => {
    expect(refusals(together(documentOf(headerFrom('/etc/vmcp/secrets/keys/a'))))).toEqual([]);
    expect(refusals(together(documentOf({ ...alpha, ca_bundle_file: '/etc/vmcp/configmaps/ca/ca.crt' })))).toEqual([]);
  });

  it('is refused when a backend starts a process or attaches to a pod', () => {
    const { isolation: _, attach, ...rest } = attached;
    expect(refusals(together(documentOf({ ...rest, process: { image: 'npx://x' } })))).toEqual([
      'RuleViolated vmcp.backends[0].process',
    ]);
    expect(refusals(together(documentOf({ ...rest, isolation: 'shared', ...(attach && { attach }) })))).toEqual([
      'RuleViolated vmcp.backends[0].attach',
    ]);
  });

  it('is refused when the document is not JSON', () => {
    expect(refusals(withDiscoveredBackends(base, '{'))).toEqual(['InvalidJSON (document)']);
  });
});

describe('an attached backend', () => {
  const { cluster: _, ...alone } = base.vmcp;
  const refusalsOf = (change: object, vmcp: object = alone): string[] =>
    refusals(readGatewayConfig(JSON.stringify({ ...base, vmcp: { ...vmcp, backends: [{ ...attached, ...change }] } })));

  it('requires a namespace and shared isolation', () => {
    expect(refusalsOf({})).toEqual([]);
    const { namespace: _namespace, ...nowhere } = alone;
    expect(refusalsOf({}, nowhere)).toEqual(['MissingField vmcp.namespace']);
    const { isolation: _isolation, ...unsaid } = attached;
    const config = { ...base, vmcp: { ...alone, backends: [unsaid] } };
    expect(refusals(readGatewayConfig(JSON.stringify(config)))).toEqual(['RuleViolated vmcp.backends[0].isolation']);
  });

  it.each([
    [{ url: 'https://x.example' }, ['RuleViolated vmcp.backends[0].url']],
    [{ process: { image: 'npx://x' } }, ['RuleViolated vmcp.backends[0].process']],
    [{ isolation: 'session' }, ['RuleViolated vmcp.backends[0].isolation']],
    [{ max_processes: 2 }, ['RuleViolated vmcp.backends[0].max_processes']],
    [
      { transport: 'sse', url: 'https://x.example' },
      ['RuleViolated vmcp.backends[0].attach', 'RuleViolated vmcp.backends[0].url'],
    ],
    [{ attach: { pod: 'p' } }, ['MissingField vmcp.backends[0].attach.container']],
  ])('is refused with conflicting or missing fields: %j', (change, expected) => {
    expect(refusalsOf(change)).toEqual(expected);
  });
});
