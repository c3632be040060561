import { describe, expect, it } from 'vitest';
import type { LaunchState } from '../../workloads/runner/runner.ts';
import { BackendError, type FailureKind } from '../transport/channel.ts';
import { createMonitor, type MonitorOptions, type Transition } from './monitor.ts';

/** Clock under control of the test: `elapse` runs due timers in order and lets promises settle. */
function manualTime() {
  let now = 0;
  let timers: { at: number; run: () => void }[] = [];
  const settle = () => new Promise<void>((resolve) => setImmediate(resolve));
  return {
    now: () => now,
    after: (delayMs: number, run: () => void) => {
      const timer = { at: now + delayMs, run };
      timers.push(timer);
      return () => {
        timers = timers.filter((other) => other !== timer);
      };
    },
    delays: () => timers.map(({ at }) => at - now).sort((a, b) => a - b),
    settle,
    async elapse(ms: number) {
      const end = now + ms;
      await settle();
      for (;;) {
        const next = timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
        if (!next) break;
        timers = timers.filter((other) => other !== next);
        now = next.at;
        next.run();
        await settle();
      }
      now = end;
    },
  };
}

function monitored(probe: MonitorOptions['probe'], options: Partial<MonitorOptions> = {}) {
  const time = manualTime();
  const transitions: Transition[] = [];
  const monitor = createMonitor({
    backends: ['a'],
    intervalMs: 30_000,
    timeoutMs: 10_000,
    unhealthyThreshold: 3,
    now: time.now,
    random: () => 0.5,
    after: time.after,
    probe,
    onTransition: (transition) => transitions.push(transition),
    ...options,
  });
  return { monitor, transitions, time };
}
const REFUSED = 'it cannot be reached, or rejects requests (3 failed in a row)';
const BACK = 'it answers again: one more answer makes it healthy';
const failing = (kind: FailureKind) => Promise.reject(new BackendError({ kind, detail: '' }));

describe('createMonitor', () => {
  it('probes at once, then at the interval, and reports transitions and whether lists change', async () => {
    let kind: FailureKind | undefined;
    let probes = 0;
    const { monitor, transitions, time } = monitored(() => {
      probes += 1;
      return kind === undefined ? Promise.resolve() : failing(kind);
    });
    monitor.start();
    await time.elapse(0);
    expect(probes).toBe(1);
    await time.elapse(29_999);
    expect(probes).toBe(1);
    kind = 'unavailable';
    await time.elapse(30_001);
    expect(monitor.advertised('a')).toBe(true);
    await time.elapse(30_000);
    expect(monitor.advertised('a')).toBe(false);
    kind = undefined;
    await time.elapse(60_000);
    expect(transitions).toEqual([
      { backend: 'a', from: 'unknown', to: 'healthy', reason: undefined, advertisementChanged: false },
      { backend: 'a', from: 'healthy', to: 'unhealthy', reason: REFUSED, advertisementChanged: true },
      { backend: 'a', from: 'unhealthy', to: 'degraded', reason: BACK, advertisementChanged: true },
      { backend: 'a', from: 'degraded', to: 'healthy', reason: undefined, advertisementChanged: false },
    ]);
  });

  it('probes a backend that was never healthy sooner, with growing pauses', async () => {
    let starting = true;
    let probes = 0;
    const { monitor, time } = monitored(() => {
      probes += 1;
      return starting ? failing('unavailable') : Promise.resolve();
    });
    monitor.start();
    await time.elapse(1_000 + 2_000 + 4_000);
    expect(probes).toBe(4);
    starting = false;
    await time.elapse(8_000);
    expect({ probes, delays: time.delays() }).toEqual({ probes: 5, delays: [1_000] });
    await time.elapse(1_000);
    expect({ state: monitor.health('a')?.state, delays: time.delays() }).toEqual({
      state: 'healthy',
      delays: [30_000],
    });
    starting = true;
    await time.elapse(30_000);
    expect(time.delays()).toEqual([30_000]);
  });

  it('varies the interval by up to ten percent', async () => {
    for (const [random, delay] of [
      [0, 27_000],
      [0.5, 30_000],
      [1, 33_000],
    ] as const) {
      const { monitor, time } = monitored(() => Promise.resolve(), { random: () => random });
      monitor.start();
      await time.settle();
      expect(time.delays()).toEqual([delay]);
    }
  });

  it('treats a probe that hangs as timed out, aborts it, and starts no second one meanwhile', async () => {
    let aborted = 0;
    let probes = 0;
    const { monitor, time } = monitored((_, signal) => {
      probes += 1;
      signal.addEventListener('abort', () => (aborted += 1));
      return new Promise(() => undefined);
    });
    monitor.start();
    await time.elapse(10_000);
    expect(monitor.health('a')).toMatchObject({ consecutiveFailures: 1, lastErrorCategory: 'timeout' });
    expect(aborted).toBe(1);
    await time.elapse(60_000);
    expect(monitor.health('a')?.state).toBe('unhealthy');
    expect(probes).toBe(1);
  });

  it('reports a slow backend as degraded', async () => {
    const { monitor, time } = monitored((): Promise<void> => new Promise((resolve) => time.after(6_000, resolve)));
    monitor.start();
    await time.elapse(6_000);
    expect(monitor.health('a')?.state).toBe('degraded');
  });

  it('probes on demand: at once when idle, else once more after the running probe', async () => {
    const running: (() => void)[] = [];
    const { monitor, time } = monitored(() => new Promise((resolve) => running.push(resolve)));
    const first = monitor.checkNow('a');
    const second = monitor.checkNow('a');
    const third = monitor.checkNow('a');
    expect(running).toHaveLength(1);
    running[0]?.();
    await first;
    await time.settle();
    expect(running).toHaveLength(2);
    running[1]?.();
    await Promise.all([second, third]);
    expect(running).toHaveLength(2);
    expect(time.delays()).toHaveLength(1);
    await monitor.checkNow('unknown');
  });

  it('does not delay a backend while another one hangs', async () => {
    const { monitor, time } = monitored((name) => (name === 'a' ? new Promise(() => undefined) : Promise.resolve()), {
      backends: ['a', 'b'],
    });
    monitor.start();
    await time.elapse(1);
    expect(monitor.snapshot().summary).toMatchObject({ total: 2, healthy: 1, unknown: 1 });
  });

  it('treats a rejection as healthy for per-user backends, and an unexpected error as an outage', async () => {
    const { monitor, time } = monitored(
      (name) => (name === 'a' ? failing('unauthenticated') : Promise.reject(new Error('bug'))),
      {
        backends: ['a', 'b'],
        expectsUser: (name) => name === 'a',
      },
    );
    monitor.start();
    await time.settle();
    expect(monitor.health('a')?.state).toBe('healthy');
    expect(monitor.health('b')).toMatchObject({ state: 'unknown', lastErrorCategory: 'backend_unavailable' });
  });

  it('passes the health of a backend on to the next monitor', async () => {
    const { monitor, time } = monitored(() => failing('unauthenticated'));
    monitor.start();
    await time.settle();
    const next = monitored(() => Promise.resolve(), { backends: ['a', 'b'], previous: monitor });
    expect(next.monitor.advertised('a')).toBe(false);
    expect(next.monitor.advertised('b')).toBe(true);
    expect(next.monitor.advertised('gone')).toBe(true);
  });

  it('reports nothing after close', async () => {
    let signalled = false;
    const { monitor, transitions, time } = monitored(
      (_, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            signalled = true;
            reject(new Error('aborted'));
          });
        }),
    );
    monitor.start();
    monitor.close();
    await time.elapse(100_000);
    expect(signalled).toBe(true);
    expect(transitions).toEqual([]);
    expect(monitor.health('a')?.lastCheckAt).toBeUndefined();
    await monitor.checkNow('a');
  });

  it('does not count failures while the process is installed or was just started', async () => {
    let launch: LaunchState = { phase: 'installing' };
    const { monitor, transitions, time } = monitored(() => failing('unavailable'), { launchState: () => launch });
    monitor.start();
    await time.elapse(60_000);
    const { backends, summary } = monitor.snapshot();
    expect(backends['a']).toMatchObject({
      status: 'installing',
      reason: 'its package or image is being installed',
      consecutive_failures: 0,
    });
    expect(summary).toMatchObject({ total: 1, installing: 1, unknown: 0 });
    launch = { phase: 'starting' };
    await time.elapse(60_000);
    expect(monitor.snapshot().backends['a']).toMatchObject({
      status: 'starting',
      reason: 'it was started and has not answered yet',
    });
    expect(transitions).toEqual([]);
    launch = {};
    await time.elapse(60_000);
    expect(transitions).toMatchObject([{ from: 'unknown', to: 'unhealthy' }]);
    launch = { phase: 'starting' };
    expect(monitor.snapshot().backends['a']?.status).toBe('unhealthy');
  });

  it('does not count the time of the start as the time of an answer', async () => {
    const answer = Promise.withResolvers<undefined>();
    const { monitor, transitions, time } = monitored(() => answer.promise, {
      launchState: () => ({ phase: 'starting' }),
    });
    monitor.start();
    await time.elapse(6_000);
    answer.resolve(undefined);
    await time.settle();
    expect(transitions).toMatchObject([{ from: 'starting', to: 'healthy' }]);
  });

  it('reports a first change from the state that the snapshot showed', async () => {
    const problem = { reason: 'PackageNotFound', message: 'npm has no package x', permanent: true } as const;
    let launch: LaunchState = { phase: 'installing' };
    const answer = Promise.withResolvers<undefined>();
    const { monitor, transitions, time } = monitored(
      async () => {
        await answer.promise;
        if (launch.problem) await failing('unavailable');
      },
      { backends: ['a', 'b'], launchState: (name) => (name === 'a' ? launch : {}) },
    );
    monitor.start();
    await time.settle();
    expect(monitor.snapshot().backends['a']?.status).toBe('installing');
    launch = { problem };
    answer.resolve(undefined);
    await time.elapse(60_000);
    expect(transitions).toMatchObject([
      { backend: 'a', from: 'installing', to: 'unhealthy' },
      { backend: 'b', from: 'unknown', to: 'unhealthy' },
    ]);
  });

  it('is unhealthy at the first failure when the process can never start', async () => {
    const problem = { reason: 'PackageNotFound', message: 'npm has no package x', permanent: true } as const;
    const { monitor, transitions, time } = monitored(() => failing('unavailable'), {
      launchState: () => ({ problem }),
    });
    monitor.start();
    await time.settle();
    expect(transitions).toMatchObject([{ from: 'unknown', to: 'unhealthy', reason: 'npm has no package x' }]);
  });

  it('shows circuit and revision in the snapshot', async () => {
    const { monitor, time } = monitored(() => Promise.resolve(), {
      circuit: () => ({ state: 'open', failures: 0, changedAt: 5_000 }),
      revision: () => '2025-11-25',
    });
    monitor.start();
    await time.settle();
    expect(monitor.snapshot().backends['a']).toEqual({
      status: 'healthy',
      reason: null,
      consecutive_failures: 0,
      last_check_time: '1970-01-01T00:00:00.000Z',
      last_error_category: null,
      last_transition_time: '1970-01-01T00:00:00.000Z',
      circuit_state: 'open',
      circuit_last_changed: '1970-01-01T00:00:05.000Z',
      mcp_revision: '2025-11-25',
    });
  });
});
