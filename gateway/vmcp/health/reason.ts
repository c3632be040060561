import { processEnd, type LaunchState } from '../../workloads/runner/runner.ts';
import type { BackendFailure } from '../transport/channel.ts';
import { categoryOf, DEGRADED_ABOVE_MS, type ErrorCategory, type Health } from './state.ts';

const FAILURES: Readonly<Record<ErrorCategory, string>> = {
  authentication_failed: 'it rejects the credential of the gateway, or requires one: check its outgoing authentication',
  timeout: 'it did not answer in time',
  cancelled: 'the probe was cancelled',
  backend_unavailable: 'it cannot be reached, or rejects requests',
  connection_failed: 'it lost the session of the gateway',
  health_check_failed: 'its answer is not MCP',
};

const PHASES = {
  installing: 'its package or image is being installed',
  starting: 'it was started and has not answered yet',
} as const;

/** Returns the cause of a failure in words, for users: no address, and no text of the backend but a line of its error output. */
export const wordsOf = ({ kind, cause }: Pick<BackendFailure, 'kind' | 'cause'>): string =>
  cause ?? FAILURES[categoryOf(kind)];

/** Returns one sentence for users that explains a state. Undefined for a healthy backend. */
export function reasonOf(health: Health, launch: LaunchState = {}): string | undefined {
  const { state, consecutiveFailures, lastErrorCategory, lastDurationMs = 0 } = health;
  const cause = causeOf(health, launch);
  if (launch.problem || state === 'unauthenticated') return cause;
  if (lastErrorCategory && cause !== undefined) return `${cause} (${String(consecutiveFailures)} failed in a row)`;
  if (cause !== undefined || state !== 'degraded') return cause;
  return lastDurationMs > DEGRADED_ABOVE_MS
    ? `its last answer took ${(lastDurationMs / 1_000).toFixed(1)} s`
    : 'it answers again: one more answer makes it healthy';
}

/**
 * Returns the cause of a state without the numbers that change from probe to probe. Undefined for a healthy backend, and for one that is
 * slow or recovers.
 */
export function causeOf(health: Health, { phase, problem, exit }: LaunchState = {}): string | undefined {
  const { state, lastErrorCategory, detail } = health;
  const ended = exit && processEnd(exit);
  const failure = lastErrorCategory && (detail ?? ended ?? FAILURES[lastErrorCategory]);
  switch (state) {
    case 'healthy':
      return undefined;
    case 'unauthenticated':
      return FAILURES.authentication_failed;
    case 'degraded':
      return problem?.message ?? failure ?? detail;
    case 'unhealthy':
      return problem?.message ?? failure ?? FAILURES.backend_unavailable;
    case 'unknown':
      if (phase !== undefined) return PHASES[phase];
      return problem?.message ?? failure ?? ended ?? 'it was not probed yet';
  }
}
