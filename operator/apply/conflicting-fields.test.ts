import { describe, expect, it } from 'vitest';
import type { KubeObject, ObjectMeta } from '../../gateway/kube/resource.ts';
import { repairOf, replicasToKeep } from './conflicting-fields.ts';

const metadata = { namespace: 'team', name: 'mcp-web' };
const versions = { uid: 'u', resourceVersion: '7' };
const deployment = (pod: object): KubeObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { ...metadata, ...versions },
  spec: { replicas: 1, template: { spec: pod } },
});
const budget = (spec: object): KubeObject => ({
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { ...metadata, ...versions },
  spec,
});
const GET = { httpGet: { path: '/health', port: 'http' }, periodSeconds: 5 };

describe('repairOf', () => {
  it.each<[string, KubeObject, KubeObject, object]>([
    [
      'the other limit of a PodDisruptionBudget',
      budget({ maxUnavailable: 1 }),
      budget({ minAvailable: 1 }),
      { maxUnavailable: 1, minAvailable: null },
    ],
    [
      'another handler of a probe',
      deployment({ containers: [{ name: 'mcp', livenessProbe: GET }] }),
      deployment({ containers: [{ name: 'other' }, { name: 'mcp', livenessProbe: { tcpSocket: { port: 1 } } }] }),
      {
        template: { spec: { containers: [{ name: 'mcp', livenessProbe: { httpGet: GET.httpGet, tcpSocket: null } }] } },
      },
    ],
    [
      'another source of a volume, and of a variable',
      deployment({
        volumes: [{ name: 'tmp', emptyDir: {} }],
        containers: [{ name: 'mcp', env: [{ name: 'A', value: '1' }] }],
      }),
      deployment({
        volumes: [{ name: 'tmp', hostPath: { path: '/' } }],
        containers: [{ name: 'mcp', env: [{ name: 'A', valueFrom: {} }] }],
      }),
      {
        template: {
          spec: {
            volumes: [{ name: 'tmp', emptyDir: {}, hostPath: null }],
            containers: [{ name: 'mcp', env: [{ name: 'A', value: '1', valueFrom: null }] }],
          },
        },
      },
    ],
    [
      'another seccomp profile',
      deployment({ securityContext: { seccompProfile: { type: 'RuntimeDefault' } } }),
      deployment({ securityContext: { seccompProfile: { type: 'Localhost', localhostProfile: 'x' } } }),
      {
        template: {
          spec: { securityContext: { seccompProfile: { type: 'RuntimeDefault', localhostProfile: null } } },
        },
      },
    ],
  ])('replaces %s', (_, desired, live, spec) => {
    expect(repairOf(desired, live)).toEqual({ patch: { metadata: versions, spec }, isStrategic: true });
  });

  it('keeps fields of others that do not conflict', () => {
    const desired = deployment({ containers: [{ name: 'mcp', livenessProbe: GET }] });
    const live = deployment({
      hostNetwork: true,
      containers: [{ name: 'mcp', livenessProbe: { ...GET, timeoutSeconds: 9 }, readinessProbe: { exec: {} } }],
    });
    expect(repairOf(desired, live)).toBeUndefined();
  });
});

describe('given replicas', () => {
  const live = (...managedFields: object[]): KubeObject => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { namespace: 'team', name: 'd', uid: 'u', resourceVersion: '7', managedFields } as ObjectMeta,
    spec: { replicas: 5, paused: true },
  });
  const fieldsV1 = { 'f:spec': { 'f:replicas': {} } };

  it('keeps the applied replicas for the current version of the object only', () => {
    expect(replicasToKeep(live({ manager: 'ours', operation: 'Apply', fieldsV1 }), 'ours')).toEqual({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { namespace: 'team', name: 'd', uid: 'u', resourceVersion: '7' },
      spec: { replicas: 5 },
    });
  });

  it('lets a workload without pods start with the default', () => {
    const stopped = { ...live({ manager: 'ours', operation: 'Apply', fieldsV1 }), spec: { replicas: 0 } };
    expect(replicasToKeep(stopped, 'ours')).toBeUndefined();
  });

  it.each([
    ['another manager', { manager: 'hpa', operation: 'Update', subresource: 'scale', fieldsV1 }],
    ['the replicas manager already', { manager: 'ours-replicas', operation: 'Apply', fieldsV1 }],
    ['no manager', { manager: 'ours', operation: 'Apply', fieldsV1: { 'f:spec': { 'f:template': {} } } }],
  ])('returns undefined when %s owns the field', (_, entry) => {
    expect(replicasToKeep(live(entry), 'ours')).toBeUndefined();
  });
});
