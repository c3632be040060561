import { expect, it } from 'vitest';
import type { KubeObject } from '../../../gateway/kube/resource.ts';
import { backendHealth, backendsHealthyCondition } from './backend-health.ts';

const reported = (discoveredBackends: readonly object[]): KubeObject =>
  ({ kind: 'VirtualMCPServer', metadata: { name: 'tools' }, status: { discoveredBackends } }) as unknown as KubeObject;

it('names the cause of each backend that is not healthy', () => {
  const object = reported([
    { name: 'fine', status: 'ready', message: 'ignored' },
    { name: 'ends', status: 'unavailable', message: 'the process ended with code 1' },
    { name: 'lists', status: 'degraded', message: 'tools/list answers the error -32603' },
    { name: 'new', status: 'unknown' },
  ]);
  expect(backendsHealthyCondition(backendHealth(object, undefined))).toMatchObject({
    status: 'False',
    reason: 'SomeBackendsUnhealthy',
    message:
      'some backends are not healthy: ends (unavailable: the process ended with code 1), lists (degraded: tools/list answers the error -32603), new (unknown)',
  });
});

it('shortens long causes and the message of many backends', () => {
  const many = Array.from({ length: 300 }, (_, n) => ({
    name: `backend-${String(n)}`,
    status: 'unavailable',
    message: 'x'.repeat(1_000),
  }));
  const { message } = backendsHealthyCondition(backendHealth(reported(many), undefined));
  expect(message.length).toBeLessThanOrEqual(32_768);
});
