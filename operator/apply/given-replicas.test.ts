import { expect, it } from 'vitest';
import type { KubeObject, ObjectMeta } from '../../gateway/kube/resource.ts';
import { replicasToKeep } from './given-replicas.ts';

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
