import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { KubeManifest } from '../../harness/control-plane/api.ts';
import { clusterBinary } from '../../harness/control-plane/binaries.ts';
import { group, virtualServer } from '../../harness/manifests.ts';
import { at, type Playground } from '../playground.ts';
import { sharedOperator } from '../shared.ts';

const { playground, api } = sharedOperator();

const VMCP = ['VirtualMCPServer', 'tools'] as const;
const ROUTE = ['HTTPRoute', 'vmcp-tools'] as const;
const route = { parentRefs: [{ name: 'public', namespace: 'gateways' }], hostnames: ['mcp.example.com'] };

/** Installs the HTTPRoutes of the Gateway API, as a user does while the operator runs. */
async function installHttpRoutes(): Promise<void> {
  const text = await readFile(clusterBinary('httproutes.yaml') ?? 'httproutes.yaml is missing', 'utf8');
  await api().create(parse(text) as KubeManifest);
}

/** Writes the verdict of a Gateway on the current spec of the route, as its controller does. */
async function judge(here: Playground, status: 'True' | 'False', reason: string): Promise<void> {
  const { metadata } = await here.appears(...ROUTE);
  const condition = (type: string, verdict: string, why: string) => ({
    ...{ type, status: verdict, reason: why, message: '' },
    observedGeneration: metadata.generation,
    lastTransitionTime: '2026-11-22T05:00:00Z',
  });
  const parent = {
    parentRef: { group: 'gateway.networking.k8s.io', kind: 'Gateway', ...route.parentRefs[0] },
    controllerName: 'example.com/gateway',
    conditions: [condition('Accepted', status, reason), condition('ResolvedRefs', 'True', 'ResolvedRefs')],
  };
  await here.patch(...ROUTE, { status: { parents: [parent] } }, 'status');
}

const pathsOf = (object: KubeManifest): unknown[] =>
  (at(object, 'spec.rules.0.matches') as { path: { value: string } }[]).map(({ path }) => path.value);

describe('the route of a VirtualMCPServer', () => {
  it('is reported as missing without the Gateway API, which holds up nothing else, and is created once it is served', async () => {
    const here = await playground();
    await here.create(group(), virtualServer({}, { name: 'tools', route }));
    await here.becomes(...VMCP, { type: 'RouteAccepted', status: 'False', reason: 'GatewayAPIMissing' });
    await here.becomes(...VMCP, { type: 'Applied', status: 'True' });
    await here.appears('Service', 'vmcp-tools');
    await installHttpRoutes();
    await here.appears(...ROUTE);
    await here.becomes(...VMCP, { type: 'RouteAccepted', status: 'Unknown', reason: 'RoutePending' });
  });

  it('follows the spec and the verdict of the Gateway, and is deleted with its field', async () => {
    const here = await playground();
    await here.create(group(), virtualServer({}, { name: 'tools', route }));
    const created = await here.appears(...ROUTE);
    const { metadata } = await here.appears(...VMCP);
    expect(created.metadata.ownerReferences).toMatchObject([{ kind: VMCP[0], uid: metadata.uid, controller: true }]);
    expect(created['spec']).toMatchObject({
      hostnames: route.hostnames,
      parentRefs: [{ kind: 'Gateway', name: 'public', namespace: 'gateways' }],
      rules: [{ timeouts: { request: '0s' }, backendRefs: [{ kind: 'Service', name: 'vmcp-tools', port: 4483 }] }, {}],
    });
    expect(pathsOf(created)).toEqual(['/mcp', '/sse', '/messages']);
    await judge(here, 'True', 'Accepted');
    await here.becomes(...VMCP, { type: 'RouteAccepted', status: 'True', reason: 'RouteAccepted' });
    await judge(here, 'False', 'NoMatchingListenerHostname');
    const { message } = await here.becomes(...VMCP, {
      type: 'RouteAccepted',
      status: 'False',
      reason: 'RouteRejected',
    });
    expect(message).toBe('Gateway "gateways/public": NoMatchingListenerHostname');
    await here.patch(...VMCP, { spec: { endpointPrefix: '/team' } });
    await here.appears(...ROUTE, (object) => pathsOf(object).includes('/team/mcp'));
    await here.patch(...ROUTE, { spec: { hostnames: ['evil.example.com'] } });
    await here.appears(...ROUTE, (object) => at(object, 'spec.hostnames.0') === 'mcp.example.com');
    await here.patch(...VMCP, { spec: { route: null } });
    await here.disappears(...ROUTE);
    await here.appears(...VMCP, (object) => !JSON.stringify(object['status']).includes('RouteAccepted'));
  });

  it('that the API server rejects is a problem, and the pods still follow the spec', async () => {
    const here = await playground();
    const [parent] = route.parentRefs;
    await here.create(group(), virtualServer({}, { name: 'tools', route: { parentRefs: [parent, parent] } }));
    const { message } = await here.becomes(...VMCP, { type: 'Applied', status: 'False', reason: 'ApplyInvalid' });
    expect(message).toContain('HTTPRoute "vmcp-tools"');
    await here.becomes(...VMCP, { type: 'Stalled', status: 'True' });
    await here.appears('Deployment', 'vmcp-tools');
    await here.patch(...VMCP, { spec: { replicas: 2 } });
    await here.appears('Deployment', 'vmcp-tools', (object) => at(object, 'spec.replicas') === 2);
    await here.patch(...VMCP, { spec: { route } });
    await here.appears(...ROUTE);
    await here.becomes(...VMCP, { type: 'Applied', status: 'True' });
  });
});

it('a load balancer has the class, networks and annotations of the spec', async () => {
  const here = await playground();
  const service = {
    annotations: { 'example.com/scheme': 'internal' },
    loadBalancerClass: 'example.com/nlb',
    loadBalancerSourceRanges: ['10.0.0.0/8'],
    externalTrafficPolicy: 'Local',
  };
  const spec = { serviceType: 'LoadBalancer', resourceOverrides: { service } };
  await here.create(group(), virtualServer({}, { name: 'tools', ...spec }));
  const { annotations, ...members } = service;
  const created = await here.appears('Service', 'vmcp-tools');
  expect(created.metadata.annotations).toMatchObject(annotations);
  expect(created['spec']).toMatchObject({ type: 'LoadBalancer', ...members });
  await here.patch(...VMCP, { spec: { serviceType: 'ClusterIP', resourceOverrides: null } });
  await here.appears('Service', 'vmcp-tools', (object) => at(object, 'spec.type') === 'ClusterIP');
  await here.becomes(...VMCP, { type: 'Applied', status: 'True' });
});
