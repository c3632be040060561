import { expect, it } from 'vitest';
import { isRolledOut } from './pods.ts';

const workload = (status?: object, spec: object = { replicas: 2 }) =>
  isRolledOut({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'd', generation: 3 },
    spec,
    ...(status && { status }),
  });
const DONE = { observedGeneration: 3, replicas: 2, updatedReplicas: 2, availableReplicas: 2 };

it('is rolled out when all pods are new and available, or with 0 replicas', () => {
  expect(workload(DONE)).toBe(true);
  expect(workload({ observedGeneration: 3, replicas: 1, updatedReplicas: 1, availableReplicas: 1 }, {})).toBe(true);
  expect(workload({ observedGeneration: 3 }, { replicas: 0 })).toBe(true);
});

it.each([
  ['the status is missing', undefined],
  ['the status is of an earlier spec', { ...DONE, observedGeneration: 2 }],
  ['old pods exist', { ...DONE, replicas: 3 }],
  ['new pods are missing', { ...DONE, updatedReplicas: 1 }],
  ['a pod is not available', { ...DONE, availableReplicas: 1 }],
])('is not rolled out while %s', (_, status) => {
  expect(workload(status)).toBe(false);
});
