import type { StartPhase } from '../../workloads/runner/runner.ts';
import type { FailureKind } from '../transport/channel.ts';

export type HealthState = 'healthy' | 'degraded' | 'unhealthy' | 'unknown' | 'unauthenticated';

/** Categories of a failed probe in the health document. */
export type ErrorCategory =
  | 'authentication_failed'
  | 'timeout'
  | 'cancelled'
  | 'backend_unavailable'
  | 'connection_failed'
  | 'health_check_failed';

/** State as users see it: a backend whose process was never ready has the step of its start. */
export type BackendState = HealthState | StartPhase;

export interface Health {
  readonly state: HealthState;
  readonly consecutiveFailures: number;
  /** Epoch ms; undefined before the first probe has ended. */
  readonly lastCheckAt: number | undefined;
  /** Category of the last probe; undefined after a good one. */
  readonly lastErrorCategory: ErrorCategory | undefined;
  /** Result of the last probe in words: the cause of its failure, or the missing list. Undefined if the category says enough. */
  readonly detail: string | undefined;
  /** Duration of the last probe; undefined after a failed one. */
  readonly lastDurationMs: number | undefined;
  /** Epoch ms of the last change of `state`. */
  readonly lastTransitionAt: number | undefined;
}

export const UNCHECKED: Health = {
  state: 'unknown',
  consecutiveFailures: 0,
  lastCheckAt: undefined,
  lastErrorCategory: undefined,
  detail: undefined,
  lastDurationMs: undefined,
  lastTransitionAt: undefined,
};

/** `flaw` names in words what is missing although the backend answers, `cause` why it does not. */
export type ProbeOutcome =
  | { readonly ok: true; readonly durationMs: number; readonly flaw?: string | undefined }
  | { readonly ok: false; readonly kind: FailureKind; readonly cause?: string | undefined };

export interface HealthPolicy {
  readonly unhealthyThreshold: number;
  /** True when the backend needs a user's credential: it rejects probes even when it is healthy. */
  readonly expectsUser: boolean;
}

/** Duration above which a probe that succeeds makes a backend `degraded`. */
export const DEGRADED_ABOVE_MS = 5_000;

/** Returns the health after a probe that ended at `at` (epoch ms). A cancelled probe changes nothing. */
export function afterProbe(health: Health, outcome: ProbeOutcome, policy: HealthPolicy, at: number): Health {
  if (!outcome.ok && outcome.kind === 'cancelled') return health;
  const state = nextState(health, outcome, policy);
  const good = isGood(outcome, policy);
  return {
    state,
    consecutiveFailures: good ? 0 : health.consecutiveFailures + 1,
    lastCheckAt: at,
    lastErrorCategory: good || outcome.ok ? undefined : categoryOf(outcome.kind),
    detail: detailOf(outcome, good),
    lastDurationMs: outcome.ok ? outcome.durationMs : undefined,
    lastTransitionAt: state === health.state ? health.lastTransitionAt : at,
  };
}

function detailOf(outcome: ProbeOutcome, isGood: boolean): string | undefined {
  if (outcome.ok) return outcome.flaw;
  return isGood ? undefined : outcome.cause;
}

/** Returns true when the backend's items are listed and sessions may open it. */
export function isAdvertised(state: HealthState): boolean {
  switch (state) {
    case 'healthy':
    case 'degraded':
    case 'unknown':
      return true;
    case 'unhealthy':
    case 'unauthenticated':
      return false;
  }
}

const isGood = (outcome: ProbeOutcome, { expectsUser }: HealthPolicy): boolean =>
  outcome.ok || (outcome.kind === 'unauthenticated' && expectsUser);

function nextState(health: Health, outcome: ProbeOutcome, policy: HealthPolicy): HealthState {
  if (isGood(outcome, policy)) {
    const isPoor = outcome.ok && (outcome.durationMs > DEGRADED_ABOVE_MS || outcome.flaw !== undefined);
    return isPoor || health.consecutiveFailures > 0 ? 'degraded' : 'healthy';
  }
  if (!outcome.ok && outcome.kind === 'unauthenticated') return 'unauthenticated';
  return health.consecutiveFailures + 1 >= policy.unhealthyThreshold ? 'unhealthy' : health.state;
}

export function categoryOf(kind: FailureKind): ErrorCategory {
  switch (kind) {
    case 'unauthenticated':
    case 'reauthenticate':
    case 'forbidden':
    case 'misconfigured':
      return 'authentication_failed';
    case 'timeout':
      return 'timeout';
    case 'cancelled':
      return 'cancelled';
    case 'unavailable':
    case 'refused':
    case 'circuit_open':
    case 'overloaded':
    case 'store_unavailable':
    case 'credential_unavailable':
      return 'backend_unavailable';
    case 'session_lost':
      return 'connection_failed';
    case 'garbage':
    case 'too_large':
      return 'health_check_failed';
  }
}

/** One backend in the response of `/api/backends/health`. Times are RFC 3339 in UTC. */
export interface BackendHealth {
  readonly status: BackendState;
  /** Sentence for users; null for a healthy backend. */
  readonly reason: string | null;
  readonly consecutive_failures: number;
  readonly last_check_time: string | null;
  readonly last_error_category: ErrorCategory | null;
  readonly last_transition_time: string | null;
  readonly circuit_state?: string;
  readonly circuit_last_changed?: string | null;
  readonly mcp_revision?: string;
}

/** Number of backends in each state. A step of a start is present only while a backend is in it. */
type Counts = Record<HealthState | 'total', number> & Partial<Record<StartPhase, number>>;

/** Response of `/api/backends/health`. */
export interface HealthSnapshot {
  readonly monitoring_enabled: boolean;
  readonly summary: Readonly<Counts>;
  /** By name, sorted. */
  readonly backends: Readonly<Record<string, BackendHealth>>;
}

export const toTimestamp = (at: number | undefined): string | null =>
  at === undefined ? null : new Date(at).toISOString();

/** `phase` is the step of a process that was never ready, `reason` the sentence of `reasonOf`. */
export const toBackendHealth = (health: Health, phase?: StartPhase, reason?: string): BackendHealth => ({
  status: phase ?? health.state,
  reason: reason ?? null,
  consecutive_failures: health.consecutiveFailures,
  last_check_time: toTimestamp(health.lastCheckAt),
  last_error_category: health.lastErrorCategory ?? null,
  last_transition_time: toTimestamp(health.lastTransitionAt),
});

export function toSnapshot(backends: ReadonlyMap<string, BackendHealth>): HealthSnapshot {
  const summary: Counts = {
    total: backends.size,
    healthy: 0,
    degraded: 0,
    unhealthy: 0,
    unknown: 0,
    unauthenticated: 0,
  };
  for (const { status } of backends.values()) summary[status] = (summary[status] ?? 0) + 1;
  const sorted = [...backends].sort(([a], [b]) => (a < b ? -1 : 1));
  return { monitoring_enabled: true, summary, backends: Object.fromEntries(sorted) };
}
