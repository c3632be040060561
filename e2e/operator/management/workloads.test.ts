import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { eventually } from '../../harness/poll.ts';
import { blockScope, type Scope } from '../../harness/scope.ts';
import { temporaryFolder } from '../../harness/vmcp.ts';
import { runWorkloadScenario } from '../../harness/management/workload-scenario.ts';
import { runPods } from '../kubelet.ts';
import { at, newPlayground, type Playground } from '../playground.ts';
import { sharedOperator } from '../shared.ts';
import { startManagement, type Management } from './management-process.ts';

const IMAGE = 'registry.example.com/time:1';
const shared = sharedOperator();

/** Writes a registry of a remote server that reads a header, and of an image that its publisher gives all hosts and a variable. */
async function registryFile(scope: Scope): Promise<string> {
  const header = { name: 'X-Key', description: 'Key of the team.', isRequired: true };
  const remotes = [{ type: 'streamable-http', url: 'https://mcp.example.com/mcp', headers: [header] }];
  const server = { name: 'com.example/described', description: 'Example.', version: '1.0.0', remotes };
  const environmentVariables = [{ name: 'NODE_OPTIONS', default: '--require=/none.cjs' }];
  const packages = [{ registryType: 'oci', identifier: IMAGE, transport: { type: 'stdio' }, environmentVariables }];
  const permissions = { network: { outbound: { insecure_allow_all: true } } };
  const _meta = { 'io.modelcontextprotocol.registry/publisher-provided': { vendor: { [IMAGE]: { permissions } } } };
  const wide = { name: 'com.example/wide', description: 'Example.', version: '1.0.0', packages, _meta };
  const path = join(await temporaryFolder(scope), 'registry.json');
  const meta = { last_updated: '2026-01-01T00:00:00Z' };
  await writeFile(path, JSON.stringify({ version: '1.0.0', meta, data: { servers: [server, wide] } }));
  return path;
}

describe('workloads of a cluster', () => {
  const scope = blockScope();
  let team: Playground;
  let other: Playground;
  let management: Management;
  const send: Management['send'] = (...args) => management.send(...args);

  beforeAll(async () => {
    team = await newPlayground(scope, shared.api(), 'management');
    other = await newPlayground(scope, shared.api(), 'management-other');
    runPods(scope, team);
    const namespaces = [team.namespace, other.namespace];
    management = await startManagement(scope, shared.api(), inject('controlPlane'), namespaces);
  });

  const create = async (name: string, settings: object = {}): Promise<void> => {
    const body = { name, image: IMAGE, transport: 'streamable-http', ...settings };
    const { status, text } = await send('POST', '/workloads', body);
    expect([status, text]).toEqual([201, expect.any(String)]);
  };
  const becomes = (name: string, status: string): Promise<unknown> =>
    eventually(
      `${name} is ${status}`,
      async () => (await send('GET', `/workloads/${name}/status`)).json['status'] === status,
    );

  it('go through the scenario that local mode goes through', async () => {
    const server = { image: IMAGE, transport: 'streamable-http', target_port: 3001, cmd_arguments: ['serve'] };
    const titles = await runWorkloadScenario({ base: management.base, server, timeoutMs: 20_000 });
    expect(titles).toContain('exports the same again');
  });

  it('become MCPServers in the first namespace, and default is created on its first use', async () => {
    await create('first', { proxy_port: 9000, env_vars: { A: 'b' } });
    expect((await team.get('MCPServer', 'first'))?.['spec']).toMatchObject({
      image: IMAGE,
      transport: 'streamable-http',
      groupRef: { name: 'default' },
      proxyPort: 9000,
      env: [{ name: 'A', value: 'b' }],
    });
    expect(await team.get('MCPGroup', 'default')).toBeDefined();
    await becomes('first', 'running');
    const list = (await send('GET', '/workloads')).json['workloads'] as Record<string, unknown>[];
    expect(list.find(({ name }) => name === 'first')).toMatchObject({
      url: `http://mcp-first.${team.namespace}.svc.cluster.local:9000/mcp`,
      port: 9000,
      package: IMAGE,
      group: 'default',
    });
  });

  it('are listed from all served namespaces, and edited where they live', async () => {
    const spec = { image: IMAGE, transport: 'streamable-http', groupRef: { name: 'tools' } };
    await other.create(
      { apiVersion: 'vmcp.dev/v1alpha1', kind: 'MCPGroup', metadata: { name: 'tools' } },
      { apiVersion: 'vmcp.dev/v1alpha1', kind: 'MCPServer', metadata: { name: 'elsewhere' }, spec },
    );
    await eventually('it is listed', async () => (await send('GET', '/workloads/elsewhere')).status === 200);
    expect((await send('POST', '/workloads', { name: 'elsewhere', image: IMAGE })).status).toBe(409);
    expect((await send('POST', '/workloads/elsewhere/edit', { env_vars: { A: 'b' } })).status).toBe(200);
    expect(at(await other.get('MCPServer', 'elsewhere'), 'spec.env')).toEqual([{ name: 'A', value: 'b' }]);
    expect(at(await other.get('MCPServer', 'elsewhere'), 'spec.groupRef.name')).toBe('tools');
  });

  it('keep the fields that others have set', async () => {
    await create('kept', { env_vars: { A: 'b' } });
    await team.patch('MCPServer', 'kept', {
      spec: { resources: { limits: { memory: '64Mi' } }, sessionAffinity: 'None', replicas: 2 },
    });
    expect((await send('POST', '/workloads/kept/edit', { env_vars: {}, cmd_arguments: ['x'] })).status).toBe(200);
    const { spec } = (await team.get('MCPServer', 'kept')) as unknown as { spec: Record<string, unknown> };
    expect(spec).toMatchObject({ resources: { limits: { memory: '64Mi' } }, sessionAffinity: 'None', args: ['x'] });
    expect([spec['env'], spec['replicas']]).toEqual([undefined, 2]);
  });

  it('answer 409 to a change of a field that another program manages, and change nothing', async () => {
    const spec = {
      image: IMAGE,
      transport: 'streamable-http',
      groupRef: { name: 'default' },
      env: [{ name: 'A', value: 'b' }],
    };
    const manifest = {
      apiVersion: 'vmcp.dev/v1alpha1',
      kind: 'MCPServer',
      metadata: { name: 'owned', namespace: team.namespace },
      spec,
    };
    await shared.api().apply(manifest, 'kubectl');
    await eventually('it is listed', async () => (await send('GET', '/workloads/owned')).status === 200);
    const image = await send('POST', '/workloads/owned/edit', { image: `${IMAGE}2` });
    expect([image.status, image.text]).toEqual([409, expect.stringContaining('kubectl')]);
    const removal = await send('POST', '/workloads/owned/edit', { env_vars: {}, cmd_arguments: ['x'] });
    expect([removal.status, removal.text]).toEqual([409, expect.stringContaining('env_vars')]);
    expect(at(await team.get('MCPServer', 'owned'), 'spec.args')).toBeUndefined();
    expect((await send('POST', '/workloads/owned/edit', { cmd_arguments: ['x'] })).status).toBe(200);
    expect(at(await team.get('MCPServer', 'owned'), 'spec.args')).toEqual(['x']);
  });

  it('keep all of several concurrent changes, beside the operator that writes the status', async () => {
    await create('busy');
    const edits = ['a', 'b', 'c', 'd'].map((text) => send('POST', '/workloads/busy/edit', { cmd_arguments: [text] }));
    const more = ['A', 'B'].map((key) => send('POST', '/workloads/busy/edit', { env_vars: { [key]: 'x' } }));
    expect((await Promise.all([...edits, ...more])).map(({ status }) => status)).toEqual([
      200, 200, 200, 200, 200, 200,
    ]);
    const creations = Array.from({ length: 6 }, () => send('POST', '/workloads', { name: 'once', image: IMAGE }));
    const statuses = (await Promise.all(creations)).map(({ status }) => status);
    expect(statuses.toSorted()).toEqual([201, 409, 409, 409, 409, 409]);
  });

  it('stop and start with their number of pods, and a restart replaces the pods', async () => {
    await create('steady');
    await becomes('steady', 'running');
    await team.patch('MCPServer', 'steady', { spec: { replicas: 3 } });
    const replicas = async (): Promise<unknown> => at(await team.get('Deployment', 'mcp-steady'), 'spec.replicas');
    await eventually('3 pods', async () => (await replicas()) === 3);
    expect((await send('POST', '/workloads/stop', { names: ['steady'] })).status).toBe(202);
    await becomes('steady', 'stopped');
    expect(await replicas()).toBe(0);
    expect((await send('POST', '/workloads/steady/start')).status).toBe(202);
    await becomes('steady', 'running');
    expect(await replicas()).toBe(3);
    const generation = async (): Promise<unknown> =>
      at(await team.get('Deployment', 'mcp-steady'), 'metadata.generation');
    const before = await generation();
    expect((await send('POST', '/workloads/steady/restart')).status).toBe(202);
    await eventually('a rollout', async () => (await generation()) !== before);
    const annotations = at(await team.get('Deployment', 'mcp-steady'), 'spec.template.metadata.annotations');
    expect(annotations).toHaveProperty('vmcp.dev/restarted-at');
  });

  it('are MCPServerEntries when they are remote', async () => {
    const url = 'https://mcp.example.com/mcp?team=a';
    const settings = { name: 'far', url, header_forward: { add_plaintext_headers: { 'X-Team': 'a' } } };
    expect((await send('POST', '/workloads', settings)).status).toBe(201);
    await becomes('far', 'running');
    expect((await team.get('MCPServerEntry', 'far'))?.['spec']).toMatchObject({
      remoteUrl: url,
      groupRef: { name: 'default' },
    });
    expect((await send('POST', '/workloads', { name: 'far', image: IMAGE })).status).toBe(409);
    expect((await send('POST', '/workloads/far/edit', { transport: 'sse' })).status).toBe(200);
    expect((await send('POST', '/workloads/far/edit', { image: IMAGE })).status).toBe(400);
    expect((await send('POST', '/workloads/far/restart')).status).toBe(202);
    expect((await send('POST', '/workloads/far/stop')).status).toBe(400);
    expect((await send('DELETE', '/workloads/far')).status).toBe(202);
    expect((await send('GET', '/workloads/far')).status).toBe(404);
  });

  it('keep what only describes them in annotations, beside those of others', async () => {
    const headers = [{ name: 'X-Key', description: 'Key of the team.', required: true }];
    const registry_server_name = 'com.example/described';
    expect((await send('PUT', '/registry/default', { local_path: await registryFile(scope) })).status).toBe(200);
    const entry = { registry: 'default', server: registry_server_name };
    expect((await send('POST', '/workloads', { name: 'described', ...entry })).status).toBe(201);
    const annotate = { metadata: { annotations: { 'example.org/owner': 'me' } } };
    await team.patch('MCPServerEntry', 'described', annotate);
    const { json: details } = await send('GET', '/workloads/described');
    expect(details['headers']).toEqual(headers);
    const exported = async (): Promise<unknown> => (await send('GET', '/workloads/described/export')).json;
    expect(await exported()).toMatchObject({ registry_server_name, remote_auth_config: { headers } });
    expect((await send('POST', '/workloads/described/edit', { ...details, transport: 'sse' })).status).toBe(200);
    expect(await exported()).toMatchObject({ transport: 'sse', registry_server_name, remote_auth_config: { headers } });
    expect((await send('POST', '/workloads/described/edit', { headers: [] })).status).toBe(200);
    expect(await exported()).not.toHaveProperty('remote_auth_config');
    expect(at(await team.get('MCPServerEntry', 'described'), 'metadata.annotations')).toEqual({
      'example.org/owner': 'me',
      'management.vmcp.dev/registry-server-name': registry_server_name,
    });
  });

  it('row 101: get no access from a registry entry that the request does not repeat', async () => {
    expect((await send('PUT', '/registry/default', { local_path: await registryFile(scope) })).status).toBe(200);
    const body = { name: 'wide', registry: 'default', server: 'com.example/wide' };
    const { status, json } = await send('POST', '/workloads', body);
    const permission_profile = { network: { outbound: { insecure_allow_all: true } } };
    const confirm = { permission_profile, env_vars: { NODE_OPTIONS: '--require=/none.cjs' } };
    expect([status, json]).toMatchObject([422, { code: 'confirmation_required', confirm }]);
    expect((await send('GET', '/workloads/wide')).status).toBe(404);
    const created = await send('POST', '/workloads', { ...body, permission_profile, env_vars: { NODE_OPTIONS: '' } });
    const settings = { image: IMAGE, transport: 'stdio' };
    expect([created.status, created.json['from_registry']]).toEqual([201, { server: body.server, settings }]);
    expect((await send('DELETE', '/workloads/wide')).status).toBe(202);
  });

  it.each([
    ['a name that is no DNS label', { name: 'My_Server', image: IMAGE }, 'lower-case'],
    ['a package', { name: 'pkg', image: 'npx://server' }, 'image'],
    ['tools', { name: 'tools', image: IMAGE, tools: ['a'] }, 'tools_filter'],
    ['isolation', { name: 'alone', image: IMAGE, network_isolation: true }, 'isolate_network'],
    ['what the schema rejects', { name: 'env', image: IMAGE, env_vars: { '1 2': 'x' } }, 'env'],
    ['an http URL', { name: 'plain', url: 'http://mcp.example.com/mcp' }, 'remoteUrl'],
  ])('answer 400 to %s', async (_what, body, word) => {
    const { status, text } = await send('POST', '/workloads', body);
    expect([status, text]).toEqual([400, expect.stringContaining(word)]);
  });

  it('use no right that the chart does not give', () => {
    expect(management.run.output()).not.toMatch(/forbidden/iu);
  });
});
