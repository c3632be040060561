import type { LaunchState } from '../../workloads/runner/runner.ts';
import { DEGRADED_ABOVE_MS, type ErrorCategory, type Health } from './state.ts';

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

/**
 * Returns one sentence for users that explains a state, without addresses and without text of the backend. Undefined for
 * a healthy backend.
 */
export function reasonOf(health: Health, { phase, problem }: LaunchState = {}): string | undefined {
  switch (health.state) {
    case 'healthy':
      return undefined;
    case 'unauthenticated':
      return FAILURES.authentication_failed;
    case 'degraded':
      return problem?.message ?? degradedBy(health);
    case 'unhealthy':
      return problem?.message ?? failureOf(health);
    case 'unknown':
      if (phase !== undefined) return PHASES[phase];
      return problem?.message ?? (health.lastErrorCategory ? failureOf(health) : 'it was not probed yet');
  }
}

function degradedBy(health: Health): string {
  const { lastErrorCategory, lastDurationMs = 0 } = health;
  if (lastErrorCategory) return failureOf(health);
  return lastDurationMs > DEGRADED_ABOVE_MS
    ? `its last answer took ${(lastDurationMs / 1_000).toFixed(1)} s`
    : 'it answers again: one more answer makes it healthy';
}

const failureOf = ({ lastErrorCategory, consecutiveFailures }: Health): string =>
  `${FAILURES[lastErrorCategory ?? 'backend_unavailable']} (${String(consecutiveFailures)} failed in a row)`;
