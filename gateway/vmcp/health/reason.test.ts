import { expect, it } from 'vitest';
import type { LaunchState } from '../../workloads/runner/runner.ts';
import { reasonOf } from './reason.ts';
import { UNCHECKED, type Health } from './state.ts';

const problem = { reason: 'PackageNotFound', message: 'npm has no package x', permanent: true } as const;
const failed = { consecutiveFailures: 3, lastErrorCategory: 'timeout' } as const;

it.each<[string, Partial<Health>, LaunchState, string | undefined]>([
  ['a healthy backend', { state: 'healthy' }, {}, undefined],
  ['a healthy backend whose process was restarted', { state: 'healthy' }, { phase: 'starting' }, undefined],
  ['an installation', {}, { phase: 'installing' }, 'its package or image is being installed'],
  ['a start', {}, { phase: 'starting' }, 'it was started and has not answered yet'],
  ['a backend without a probe', {}, {}, 'it was not probed yet'],
  ['first failures', { ...failed, consecutiveFailures: 1 }, {}, 'it did not answer in time (1 failed in a row)'],
  ['an unhealthy backend', { state: 'unhealthy', ...failed }, {}, 'it did not answer in time (3 failed in a row)'],
  [
    'a forward proxy that refuses',
    { state: 'unhealthy', ...failed, detail: 'the proxy 10.1.2.3:3128 answers HTTP 407' },
    {},
    'the proxy 10.1.2.3:3128 answers HTTP 407 (3 failed in a row)',
  ],
  ['a process that cannot start', { state: 'unhealthy', ...failed }, { problem }, 'npm has no package x'],
  ['a slow backend', { state: 'degraded', lastDurationMs: 6_240 }, {}, 'its last answer took 6.2 s'],
  [
    'a backend that recovers',
    { state: 'degraded', lastDurationMs: 3 },
    {},
    'it answers again: one more answer makes it healthy',
  ],
  [
    'a degraded backend that fails',
    { state: 'degraded', ...failed, consecutiveFailures: 1 },
    {},
    'it did not answer in time (1 failed in a row)',
  ],
  [
    'a rejected credential',
    { state: 'unauthenticated', ...failed },
    {},
    'it rejects the credential of the gateway, or requires one: check its outgoing authentication',
  ],
])('explains %s', (_, health, launch, reason) => {
  expect(reasonOf({ ...UNCHECKED, ...health }, launch)).toBe(reason);
});
