import { expect, it } from 'vitest';
import { group } from '../harness/manifests.ts';
import type { KubeManifest } from '../harness/control-plane/api.ts';
import { testScope } from '../harness/scope.ts';
import { runPods } from './kubelet.ts';
import { at, statusOf } from './playground.ts';
import { httpServer, oidcConfig, stdioServer } from './resources.ts';
import { sharedOperator } from './shared.ts';

const { playground } = sharedOperator();
const TOKENS = { oidcConfigRef: { name: 'login', audience: 'https://web.example.com/mcp' } };
const CHECKSUM = ['spec', 'template', 'metadata', 'annotations', 'vmcp.dev/runconfig-checksum'];

const containersOf = (workload: KubeManifest): string[] =>
  (at(workload, 'spec.template.spec.containers') as readonly { readonly name: string }[]).map(({ name }) => name);
const checksumOf = (workload: KubeManifest): unknown =>
  CHECKSUM.reduce<unknown>((value, step) => (value as Record<string, unknown> | undefined)?.[step], workload);
/** Port of the pods that the Service leads to, by the container that has it. */
const exposed = (workload: KubeManifest): string[] =>
  (
    at(workload, 'spec.template.spec.containers') as readonly {
      readonly name: string;
      readonly ports?: readonly { readonly name: string }[];
    }[]
  )
    .filter(({ ports = [] }) => ports.some(({ name }) => name === 'http'))
    .map(({ name }) => name);

it('puts a gateway in front of a single server while it has controls', async () => {
  const here = await playground();
  await here.create(group(), httpServer('web', { replicas: 1 }));
  const alone = await here.appears('Deployment', 'mcp-web');
  expect(exposed(alone)).toEqual(['mcp']);

  await here.patch('MCPServer', 'web', { spec: TOKENS });
  const missing = { type: 'OIDCConfigRefValidated', status: 'False', reason: 'OIDCConfigRefNotFound' };
  expect((await here.becomes('MCPServer', 'web', missing)).message).toContain('spec.oidcConfigRef.name');
  expect((await here.get('Deployment', 'mcp-web'))?.['spec']).toEqual(alone['spec']);

  await here.create(oidcConfig('login'));
  await here.becomes('MCPServer', 'web', { type: 'OIDCConfigRefValidated', status: 'True' });
  await here.becomes('MCPServer', 'web', { type: 'Applied', status: 'True' });
  const behind = await here.appears('Deployment', 'mcp-web', (each) => containersOf(each).length === 2);
  expect(exposed(behind)).toEqual(['vmcp']);
  expect(at(await here.get('Service', 'mcp-web'), 'spec.ports.0')).toMatchObject({ port: 8080, targetPort: 'http' });
  const config = await here.get('ConfigMap', 'mcp-web-gateway-config');
  expect(JSON.stringify(config?.['data'])).toContain('https://issuer.example.com');

  const { oidcConfigHash } = statusOf(await here.get('MCPServer', 'web'));
  await here.patch('MCPOIDCConfig', 'login', { spec: { inline: { issuer: 'https://other.example.com' } } });
  await here.appears('Deployment', 'mcp-web', (each) => checksumOf(each) !== checksumOf(behind));
  await here.appears('MCPServer', 'web', (each) => statusOf(each)['oidcConfigHash'] !== oidcConfigHash);

  await here.remove('MCPOIDCConfig', 'login');
  const blocked = { type: 'DeletionBlocked', status: 'True', reason: 'ReferencedByWorkloads' };
  expect((await here.becomes('MCPOIDCConfig', 'login', blocked)).message).toContain('MCPServer/web');
  await here.patch('MCPServer', 'web', { spec: { oidcConfigRef: null } });
  await here.disappears('MCPOIDCConfig', 'login');
  const again = await here.appears('Deployment', 'mcp-web', (each) => containersOf(each).length === 1);
  expect(exposed(again)).toEqual(['mcp']);
  runPods(testScope(), here); // the old pods keep their configuration until new ones are ready
  await here.disappears('ConfigMap', 'mcp-web-gateway-config');
});

it('adds the controls of a stdio server to the gateway that it has', async () => {
  const here = await playground();
  await here.create(group(), oidcConfig('login'), stdioServer('web', TOKENS));
  await here.becomes('MCPServer', 'web', { type: 'Applied', status: 'True' });
  const { data } = (await here.appears('ConfigMap', 'mcp-web-gateway-config')) as { readonly data?: object };
  const config = JSON.parse((data as Readonly<Record<string, string>>)['config.json'] ?? '') as object;
  expect(at(config, 'oidc_config.issuer')).toBe('https://issuer.example.com');
  expect(at(config, 'vmcp.backends.0.attach')).toEqual({ container: 'mcp', pod: 'mcp-web-0' });
});

it('runs a server with a permission profile, and warns that it has no effect', async () => {
  const here = await playground();
  await here.create(group(), httpServer('web', { permissionProfile: { name: 'none' } }));
  await here.becomes('MCPServer', 'web', { type: 'Valid', status: 'True' });
  const advice = await here.becomes('MCPServer', 'web', { type: 'Advisory', status: 'True' });
  expect(advice.message).toContain(
    'spec.permissionProfile: in a cluster no profile limits a server: use a NetworkPolicy',
  );
  await here.appears('Deployment', 'mcp-web');
});
