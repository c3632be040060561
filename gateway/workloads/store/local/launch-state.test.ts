import { describe, expect, it } from 'vitest';
import { statusOf } from '../../definition/status.ts';
import type { SupervisedState } from '../../runner/supervise.ts';
import { launchStateOf } from './server-process.ts';

const lastExit = { code: 3, signal: null };
const ended = (inARow: number): SupervisedState => ({ status: 'backoff', restarts: inARow - 1, inARow, lastExit });

/** Returns the status of a workload whose server is in this state. */
function shown(state: SupervisedState, now = 0, health: 'healthy' | 'unhealthy' = 'unhealthy') {
  const { problem, restart } = launchStateOf(state, now);
  const isPermanent = problem?.permanent === true;
  const failedProbes = health === 'healthy' ? 0 : 3;
  const reason = problem?.message ?? 'it cannot be reached';
  return statusOf({
    desired: 'running',
    served: { status: health, reason, isPermanent, failedProbes, isListed: true, restart },
  });
}

describe('a server that ends again and again', () => {
  it.each([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])('is starting, with its exit code, until restart %i', (restart) => {
    const starting = {
      status: 'starting',
      status_context: `it ended with exit code 3 and is restarted (restart ${String(restart)} of 10)`,
    };
    expect(shown(ended(restart))).toEqual(starting);
    for (const status of ['installing', 'starting'] as const)
      expect(shown({ ...ended(restart), status, restarts: restart })).toEqual(starting);
    expect(shown(ended(restart), 0, 'healthy')).toEqual(starting);
  });

  it('is in error after the last restart', () => {
    const problem = { reason: 'CrashLoop' as const, message: 'it ended after each of 10 restarts', permanent: true };
    expect(shown({ ...ended(10), status: 'failed', problem })).toEqual({
      status: 'error',
      status_context: 'it ended after each of 10 restarts',
    });
  });

  it('runs once it has answered, and is unhealthy when it does not answer for 30 s', () => {
    const open: SupervisedState = { ...ended(1), status: 'running', restarts: 1, startedAt: 5_000 };
    expect(shown(open, 6_000)).toMatchObject({ status: 'starting' });
    expect(shown(open, 6_000, 'healthy')).toMatchObject({ status: 'running' });
    expect(shown(open, 35_000)).toEqual({ status: 'unhealthy', status_context: 'it cannot be reached' });
  });

  it('is unhealthy when it does not open its port', () => {
    expect(shown({ ...ended(1), status: 'late', restarts: 1 })).toMatchObject({ status: 'unhealthy' });
  });
});
