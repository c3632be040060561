import { expect, it } from 'vitest';
import type { ServedState } from '../host.ts';
import { statusOf, type LoginState, type Observed } from './status.ts';

const served = (status: ServedState['status'], isPermanent = false, reason?: string) => ({
  served: { status, isPermanent, failedProbes: 0, isListed: true, ...(reason !== undefined && { reason }) },
});
const unlisted = (status: ServedState['status']) => ({ served: { ...served(status).served, isListed: false } });
const login = (kind: LoginState['kind'], more: Partial<LoginState> = {}) => ({ login: { kind, ...more } });
const reason = 'it ended';

it.each<[Observed | Omit<Observed, 'desired'>, string, string?]>([
  [{ desired: 'removed', ...served('healthy') }, 'removing'],
  [{ desired: 'stopped', ...served('healthy') }, 'stopping'],
  [{ desired: 'removed', fault: reason }, 'removing', reason],
  [{ desired: 'stopped', isEnding: true, fault: reason }, 'stopping', reason],
  [{ desired: 'stopped' }, 'stopped'],
  [{ desired: 'stopped', fault: reason }, 'stopped', reason],
  [{}, 'starting'],
  [{ fault: reason }, 'error', reason],
  [{ fault: reason, ...served('healthy') }, 'error', reason],
  [{ undone: reason }, 'starting', reason],
  [served('healthy'), 'running'],
  [{ ...served('healthy'), undone: reason }, 'running', reason],
  [served('degraded', false, reason), 'running', reason],
  [served('unauthenticated', false, reason), 'unauthenticated', reason],
  [served('unhealthy', false, reason), 'unhealthy', reason],
  [served('unhealthy', true, reason), 'error', reason],
  [served('installing', false, reason), 'starting', reason],
  [served('starting'), 'starting'],
  [served('starting', true, reason), 'error', reason],
  [served('unknown'), 'starting'],
  [{ ...served('healthy'), ...login('authenticated') }, 'running'],
  // the health of a backend outlives an edit that replaces its catalog
  [{ ...unlisted('healthy'), ...login('authenticated') }, 'starting', 'its tools are being listed'],
  [unlisted('degraded'), 'starting', 'its tools are being listed'],
  [unlisted('unhealthy'), 'unhealthy'],
  [{ ...served('healthy'), ...login('not_required') }, 'running'],
  [{ ...served('unhealthy'), ...login('unreachable', { reason }) }, 'unhealthy', reason],
  [{ ...served('healthy'), ...login('auth_retrying', { reason }) }, 'auth_retrying', reason],
  [{ ...served('unhealthy'), ...login('unauthenticated', { reason }) }, 'unauthenticated', reason],
  [
    { ...served('unknown'), ...login('login_required', { loginUrl: 'https://i' }) },
    'unauthenticated',
    'a login is required: open https://i',
  ],
])('the status of %j is %s', (observed, status, context) => {
  expect(statusOf({ desired: 'running', ...observed })).toEqual({
    status,
    ...(context !== undefined && { status_context: context }),
  });
});
