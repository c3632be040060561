import { BackendError, type FailureKind } from '../transport/channel.ts';
import type { CircuitState } from './circuit.ts';
import type { LaunchState, StartPhase } from '../../workloads/runner/runner.ts';
import { type After, afterTimeout, backoffMs, within } from '../../kit/time.ts';
import { causeOf, reasonOf } from './reason.ts';
import {
  afterProbe,
  isAdvertised,
  toBackendHealth,
  toSnapshot,
  toTimestamp,
  UNCHECKED,
  type BackendHealth,
  type BackendState,
  type Health,
  type HealthSnapshot,
  type HealthState,
  type ProbeOutcome,
} from './state.ts';

export interface Transition {
  readonly backend: string;
  /** The state that `/status` showed before, which can be a step of the first start. */
  readonly from: BackendState;
  readonly to: HealthState;
  /** Sentence for users; undefined when the backend is healthy. */
  readonly reason: string | undefined;
  /** True when the lists that clients see change. */
  readonly advertisementChanged: boolean;
}

export interface MonitorOptions {
  readonly backends: readonly string[];
  /**
   * Time from the end of a probe to the next one, varied by up to ten percent. A backend that was never healthy is
   * probed after 1, 2, 4 ... s, as it may be starting. A backend that recovers is probed again after 1 s.
   */
  readonly intervalMs: number;
  readonly timeoutMs: number;
  readonly unhealthyThreshold: number;
  readonly now: () => number;
  /** Returns a random number in [0, 1). */
  readonly random: () => number;
  readonly after?: After;
  /**
   * Rejects with `BackendError` when the backend is unhealthy; any other error counts as `unavailable`. Should end soon
   * after `signal` is aborted: a backend is not probed again before the previous probe has ended.
   */
  readonly probe: (backend: string, signal: AbortSignal) => Promise<void>;
  /** Called when a probe ended, with `ok` or the kind of its failure. */
  readonly onProbed?: (backend: string, outcome: FailureKind | 'ok') => void;
  readonly onTransition: (transition: Transition) => void;
  /** The monitor that this one replaces. Backends of the same name keep their health. */
  readonly previous?: Monitor | undefined;
  /** Returns true when this backend normally rejects requests without a user's credential. */
  readonly expectsUser?: (backend: string) => boolean;
  /**
   * Returns the state of the backend's process. While it is being installed or was just started, a failed probe of a
   * backend that was never healthy is not counted.
   */
  readonly launchState?: (backend: string) => LaunchState;
  /** Returns in words what is missing although the backend answers: it is degraded. Read after each good probe. */
  readonly flaw?: (backend: string) => string | undefined;
  /** For the snapshot. */
  readonly circuit?: (backend: string) => Pick<CircuitState, 'state' | 'changedAt'> | undefined;
  readonly revision?: (backend: string) => string | undefined;
}

export interface Monitor {
  /** Probes every backend at once, then each at its interval. */
  start(): void;
  /** Probes now, or once more after the running probe. Resolves when that probe is evaluated. */
  checkNow(backend: string): Promise<void>;
  /** Returns undefined for an unknown backend. */
  health(backend: string): Health | undefined;
  /** Returns the cause of the state in words that stay the same from probe to probe; undefined where nothing failed. */
  cause(backend: string): string | undefined;
  /** Returns true for an unknown backend. */
  advertised(backend: string): boolean;
  snapshot(): HealthSnapshot;
  /** Aborts the running probes; nothing is reported afterwards. */
  close(): void;
}

const FIRST_PAUSE_MS = 1_000;

interface Watched {
  readonly name: string;
  health: Health;
  /** Settles when the probe is evaluated. */
  evaluation: Promise<void> | undefined;
  /** True until the probe function returns, which may be after its timeout. */
  unfinished: boolean;
  /** Failed probes of a backend that was never healthy. */
  failedBefore: number;
  again: Promise<void> | undefined;
  cancelTimer: () => void;
}

export function createMonitor(options: MonitorOptions): Monitor {
  const { intervalMs, random, after = afterTimeout, previous } = options;
  const closing = new AbortController();
  const watched = new Map(options.backends.map((name) => [name, newlyWatched(name, previous?.health(name))] as const));

  const check = (backend: Watched): Promise<void> => {
    if (backend.evaluation || closing.signal.aborted) return backend.evaluation ?? Promise.resolve();
    backend.cancelTimer();
    const before = startPhase(backend, options);
    backend.evaluation = runProbe(backend, options, closing.signal).then((outcome) => {
      backend.evaluation = undefined;
      if (closing.signal.aborted) return;
      const starts = failedAtStart(backend, outcome, before, options);
      const pauseMs = Math.min(intervalMs, starts ? FIRST_PAUSE_MS : soonestMs(backend, outcome));
      backend.cancelTimer = after(pauseMs * (0.9 + 0.2 * random()), () => void check(backend));
      // A probe that waited for the start of a process says nothing about the speed of its answers.
      const counted = outcome.ok && before !== undefined ? { ...outcome, durationMs: 0 } : outcome;
      if (!starts) evaluate(backend, counted, before, options);
    });
    return backend.evaluation;
  };
  const checkAgain = async (backend: Watched | undefined): Promise<void> => {
    if (!backend?.evaluation) return backend && check(backend);
    backend.again ??= backend.evaluation.then(() => {
      backend.again = undefined;
      return check(backend);
    });
    return backend.again;
  };
  return {
    start: () => {
      for (const backend of watched.values()) void check(backend);
    },
    checkNow: (name) => checkAgain(watched.get(name)),
    health: (name) => watched.get(name)?.health,
    cause: (name) => {
      const backend = watched.get(name);
      return backend && causeOf(backend.health, options.launchState?.(name));
    },
    advertised: (name) => isAdvertised(watched.get(name)?.health.state ?? 'unknown'),
    snapshot: () => snapshotOf(watched.values(), options),
    close: () => {
      closing.abort();
      for (const { cancelTimer } of watched.values()) cancelTimer();
    },
  };
}

/** Returns the step of a process that was never ready. A backend with a known state is past it. */
const startPhase = ({ name, health }: Watched, { launchState }: MonitorOptions): StartPhase | undefined =>
  health.state === 'unknown' ? launchState?.(name).phase : undefined;

/** Returns true when a probe failed because the process was starting when the probe began (`before`) or ended. */
function failedAtStart(
  backend: Watched,
  outcome: ProbeOutcome,
  before: StartPhase | undefined,
  options: MonitorOptions,
): boolean {
  if (outcome.ok || options.launchState?.(backend.name).problem) return false;
  return (before ?? startPhase(backend, options)) !== undefined;
}

/** Returns the last step of the first start that has ended during a probe. A process that answers had been started. */
const lastPhase = (outcome: ProbeOutcome, before: StartPhase | undefined): StartPhase | undefined =>
  before !== undefined && outcome.ok ? 'starting' : before;

/** Returns the time to the next probe. Must be called before the probe is evaluated. */
function soonestMs(backend: Watched, outcome: ProbeOutcome): number {
  const isBack = outcome.ok && backend.health.consecutiveFailures > 0;
  backend.failedBefore = answers(outcome) ? Number.POSITIVE_INFINITY : backend.failedBefore + 1;
  return isBack ? FIRST_PAUSE_MS : backoffMs(backend.failedBefore, FIRST_PAUSE_MS, Infinity);
}

/** Returns true for a rejection that is expected without a user: the backend is running. */
const answers = (outcome: ProbeOutcome): boolean => outcome.ok || outcome.kind === 'unauthenticated';

const newlyWatched = (name: string, health: Health | undefined): Watched => ({
  name,
  health: health ?? UNCHECKED,
  evaluation: undefined,
  unfinished: false,
  failedBefore: health ? Number.POSITIVE_INFINITY : 0,
  again: undefined,
  cancelTimer: () => undefined,
});

/** `phase` is the step of the first start when the probe began. */
function evaluate(
  backend: Watched,
  outcome: ProbeOutcome,
  phase: StartPhase | undefined,
  options: MonitorOptions,
): void {
  const { name, health: before } = backend;
  const from = startPhase(backend, options) ?? lastPhase(outcome, phase) ?? before.state;
  const launch = options.launchState?.(name);
  const policy = {
    unhealthyThreshold: launch?.problem?.permanent === true ? 1 : options.unhealthyThreshold,
    expectsUser: options.expectsUser?.(name) ?? false,
  };
  backend.health = afterProbe(before, outcome, policy, options.now());
  options.onProbed?.(name, outcome.ok ? 'ok' : outcome.kind);
  const { state: to } = backend.health;
  if (to === before.state) return;
  const advertisementChanged = isAdvertised(to) !== isAdvertised(before.state);
  const reason = reasonOf(backend.health, launch);
  options.onTransition({ backend: name, from, to, reason, advertisementChanged });
}

/** Never rejects. Resolves when the timeout has passed at the latest. */
async function runProbe(backend: Watched, options: MonitorOptions, closing: AbortSignal): Promise<ProbeOutcome> {
  const { after = afterTimeout, timeoutMs, now, probe } = options;
  if (backend.unfinished) return { ok: false, kind: 'timeout' };
  const startedAt = now();
  const timeout = new AbortController();
  const signal = AbortSignal.any([timeout.signal, closing]);
  backend.unfinished = true;
  const probed = probe(backend.name, signal)
    .then(
      (): ProbeOutcome => ({ ok: true, durationMs: now() - startedAt, flaw: options.flaw?.(backend.name) }),
      failedOutcome,
    )
    .finally(() => {
      backend.unfinished = false;
    });
  const late: ProbeOutcome = { ok: false, kind: 'timeout' };
  const outcome = await within(timeoutMs, probed, late, { after });
  if (outcome === late) timeout.abort();
  return outcome;
}

const snapshotOf = (watched: Iterable<Watched>, options: MonitorOptions): HealthSnapshot =>
  toSnapshot(new Map(Array.from(watched, (backend) => [backend.name, describe(backend, options)])));

const failedOutcome = (error: unknown): ProbeOutcome =>
  error instanceof BackendError
    ? { ok: false, kind: error.failure.kind, cause: error.failure.cause }
    : { ok: false, kind: 'unavailable' };

function describe(backend: Watched, options: MonitorOptions): BackendHealth {
  const { name, health } = backend;
  const circuit = options.circuit?.(name);
  const revision = options.revision?.(name);
  return {
    ...toBackendHealth(health, startPhase(backend, options), reasonOf(health, options.launchState?.(name))),
    ...(circuit && { circuit_state: circuit.state, circuit_last_changed: toTimestamp(circuit.changedAt) }),
    ...(revision !== undefined && { mcp_revision: revision }),
  };
}
