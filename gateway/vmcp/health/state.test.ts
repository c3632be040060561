import { describe, expect, it } from 'vitest';
import type { FailureKind } from '../transport/channel.ts';
import {
  afterProbe,
  categoryOf,
  isAdvertised,
  toBackendHealth,
  toSnapshot,
  UNCHECKED,
  type Health,
  type HealthState,
} from './state.ts';

/** Outcomes of probes: duration of a good one in ms, or the failure. */
type Result = number | FailureKind;
const POLICY = { unhealthyThreshold: 3, expectsUser: false };

const run = (results: readonly Result[], policy = POLICY): Health =>
  results.reduce<Health>(
    (health, result, n) =>
      afterProbe(
        health,
        typeof result === 'number' ? { ok: true, durationMs: result } : { ok: false, kind: result },
        policy,
        n + 1,
      ),
    UNCHECKED,
  );

describe('afterProbe', () => {
  it.each<[Result[], HealthState]>([
    [[], 'unknown'],
    [[10], 'healthy'],
    [[5_000], 'healthy'],
    [[5_001], 'degraded'],
    [[5_001, 10], 'healthy'],
    [['unavailable'], 'unknown'],
    [['unavailable', 'timeout'], 'unknown'],
    [['unavailable', 'timeout', 'garbage'], 'unhealthy'],
    [[10, 'unavailable', 'unavailable'], 'healthy'],
    [[10, 'unavailable', 'unavailable', 'unavailable'], 'unhealthy'],
    [[10, 'unavailable', 10], 'degraded'],
    [[10, 'unavailable', 10, 10], 'healthy'],
    [[10, 'unavailable', 10, 'unavailable', 'unavailable'], 'degraded'],
    [['timeout', 'timeout', 'timeout', 10], 'degraded'],
    [['timeout', 'timeout', 'timeout', 10, 10], 'healthy'],
    [['timeout', 'timeout', 'timeout', 'timeout'], 'unhealthy'],
    [['unauthenticated'], 'unauthenticated'],
    [[10, 'unauthenticated'], 'unauthenticated'],
    [['unauthenticated', 10], 'degraded'],
    [['unauthenticated', 'unavailable'], 'unauthenticated'],
    [['unauthenticated', 'unavailable', 'unavailable'], 'unhealthy'],
    [['cancelled', 'cancelled', 'cancelled'], 'unknown'],
    [['unavailable', 'unavailable', 'cancelled'], 'unknown'],
  ])('%j leads to %s', (results, state) => {
    expect(run(results).state).toBe(state);
  });

  it('treats a rejection as healthy for per-user backends', () => {
    const policy = { ...POLICY, expectsUser: true };
    expect(run(['unauthenticated'], policy)).toMatchObject({
      state: 'healthy',
      consecutiveFailures: 0,
      lastErrorCategory: undefined,
    });
    expect(run(['timeout', 'unauthenticated'], policy).state).toBe('degraded');
  });

  it('counts failures and keeps the time of the last change of state', () => {
    expect(run([10, 10, 'timeout', 'timeout'])).toEqual({
      state: 'healthy',
      consecutiveFailures: 2,
      lastCheckAt: 4,
      lastErrorCategory: 'timeout',
      lastTransitionAt: 1,
    });
    expect(run([10, 'timeout', 'timeout', 'timeout', 'timeout'])).toMatchObject({
      lastTransitionAt: 4,
      lastCheckAt: 5,
    });
    expect(run(['timeout', 'cancelled']).lastCheckAt).toBe(1);
  });

  it('becomes unhealthy at once with a threshold of one', () => {
    expect(run(['timeout'], { ...POLICY, unhealthyThreshold: 1 }).state).toBe('unhealthy');
  });
});

it.each<[HealthState, boolean]>([
  ['healthy', true],
  ['degraded', true],
  ['unknown', true],
  ['unhealthy', false],
  ['unauthenticated', false],
])('a backend that is %s is advertised: %s', (state, advertised) => {
  expect(isAdvertised(state)).toBe(advertised);
});

it.each<[FailureKind, string]>([
  ['unauthenticated', 'authentication_failed'],
  ['timeout', 'timeout'],
  ['cancelled', 'cancelled'],
  ['unavailable', 'backend_unavailable'],
  ['circuit_open', 'backend_unavailable'],
  ['session_lost', 'connection_failed'],
  ['garbage', 'health_check_failed'],
  ['too_large', 'health_check_failed'],
])('%s is reported as %s', (kind, category) => {
  expect(categoryOf(kind)).toBe(category);
});

it('counts states and sorts names in the snapshot', () => {
  const backends = new Map([
    ['b', toBackendHealth(run([10]))],
    ['a', toBackendHealth(run(['timeout', 'timeout', 'timeout']))],
    ['c', toBackendHealth(UNCHECKED)],
  ]);
  const snapshot = toSnapshot(backends);
  expect(snapshot.summary).toEqual({ total: 3, healthy: 1, degraded: 0, unhealthy: 1, unknown: 1, unauthenticated: 0 });
  expect(Object.keys(snapshot.backends)).toEqual(['a', 'b', 'c']);
  expect(snapshot.backends['a']).toEqual({
    status: 'unhealthy',
    reason: null,
    consecutive_failures: 3,
    last_check_time: '1970-01-01T00:00:00.003Z',
    last_error_category: 'timeout',
    last_transition_time: '1970-01-01T00:00:00.003Z',
  });
  expect(snapshot.backends['c']).toMatchObject({ last_check_time: null, last_error_category: null });
});
