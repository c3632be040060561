import type { FailureKind } from '../transport/channel.ts';

export interface CircuitPolicy {
  readonly enabled: boolean;
  /** Failures in a row that open the circuit. */
  readonly failureThreshold: number;
  /** Time from opening to the trial call, ms. */
  readonly timeoutMs: number;
  /** True when principals have separate processes: a process that ends affects one principal only. */
  readonly isolated: boolean;
}

export interface CircuitState {
  readonly state: 'closed' | 'open' | 'half_open';
  /** Counted failures in a row, while closed. */
  readonly failures: number;
  /** Epoch ms of the last change of `state`. */
  readonly changedAt: number | undefined;
  /**
   * Doubtful failures in a row. One principal alone can cause them, so they count only when a second principal or a probe
   * fails too.
   */
  readonly doubtful: number;
  /** Principal with the first doubtful failure. */
  readonly witness: string | undefined;
  /** True when a second principal had a doubtful failure. */
  readonly confirmed: boolean;
}

const NO_FAILURES = { failures: 0, doubtful: 0, witness: undefined, confirmed: false };
const CLOSED: CircuitState = { state: 'closed', changedAt: undefined, ...NO_FAILURES };

const opened = (changedAt: number): CircuitState => ({ state: 'open', changedAt, ...NO_FAILURES });

/** Seconds to wait while the trial of a half-open circuit runs. The trial ends within its own timeout. */
const TRIAL_RETRY_SECONDS = 1;

type Admission =
  | { readonly admitted: true; readonly circuit: CircuitState }
  | { readonly admitted: false; readonly retryAfterSeconds: number };

/** Decides whether a call is admitted at `now`. While half-open a trial call runs and every other call is rejected. */
function admit(circuit: CircuitState, policy: CircuitPolicy, now: number): Admission {
  if (!policy.enabled || circuit.state === 'closed') return { admitted: true, circuit };
  if (circuit.state === 'half_open') return { admitted: false, retryAfterSeconds: TRIAL_RETRY_SECONDS };
  const leftMs = (circuit.changedAt ?? 0) + policy.timeoutMs - now;
  if (leftMs > 0) return { admitted: false, retryAfterSeconds: Math.ceil(leftMs / 1_000) };
  return { admitted: true, circuit: { ...circuit, state: 'half_open', changedAt: now } };
}

interface Ended {
  readonly outcome: FailureKind | 'ok';
  readonly principal: string;
  /** True when the last probe failed. */
  readonly probeFailed: boolean;
  readonly now: number;
}

/**
 * Returns the circuit after an admitted call. Calls that end while it is open were admitted before and change nothing.
 */
function afterCall(circuit: CircuitState, policy: CircuitPolicy, ended: Ended): CircuitState {
  if (!policy.enabled || circuit.state === 'open') return circuit;
  const verdict = verdictOf(ended.outcome, policy);
  return circuit.state === 'closed'
    ? afterUsualCall(circuit, policy, verdict, ended)
    : afterTrial(circuit, policy, verdict, ended);
}

function afterUsualCall(circuit: CircuitState, policy: CircuitPolicy, verdict: Verdict, ended: Ended): CircuitState {
  if (verdict === 'good') return { ...circuit, ...NO_FAILURES };
  if (verdict === 'none') return circuit;
  const { failures } = circuit;
  if (verdict === 'bad') return counted({ ...circuit, failures: failures + 1 }, policy, ended.now);
  const confirmed = circuit.confirmed || isSecondPrincipal(circuit, ended);
  const seen = { ...circuit, doubtful: circuit.doubtful + 1, witness: circuit.witness ?? ended.principal, confirmed };
  return confirmed || ended.probeFailed ? countDoubtful(seen, policy, ended.now) : seen;
}

/** After a doubtful trial the next call is the trial, so that a single principal cannot keep the circuit open. */
function afterTrial(circuit: CircuitState, policy: CircuitPolicy, verdict: Verdict, ended: Ended): CircuitState {
  const { principal, now, probeFailed } = ended;
  if (verdict === 'good') return { ...CLOSED, changedAt: now };
  if (verdict === 'bad') return opened(now);
  if (verdict === 'doubtful' && (probeFailed || isSecondPrincipal(circuit, ended))) return opened(now);
  const tryAgain = { ...circuit, state: 'open', changedAt: now - policy.timeoutMs } as const;
  return verdict === 'none' ? tryAgain : { ...tryAgain, doubtful: 1, witness: principal };
}

/** Returns the circuit after a failed probe, which confirms doubtful failures. */
function afterFailedProbe(circuit: CircuitState, policy: CircuitPolicy, now: number): CircuitState {
  if (circuit.doubtful === 0) return circuit;
  if (circuit.state === 'closed') return countDoubtful(circuit, policy, now);
  return circuit.state === 'open' ? opened(now) : circuit;
}

const countDoubtful = (circuit: CircuitState, policy: CircuitPolicy, now: number): CircuitState =>
  counted({ ...circuit, failures: circuit.failures + circuit.doubtful, doubtful: 0 }, policy, now);

const counted = (circuit: CircuitState, { failureThreshold }: CircuitPolicy, now: number): CircuitState =>
  circuit.failures < failureThreshold ? circuit : opened(now);

const hasNoFailures = ({ failures, witness }: CircuitState): boolean => failures === 0 && witness === undefined;

const isSecondPrincipal = ({ witness }: CircuitState, { principal }: Ended): boolean =>
  witness !== undefined && witness !== principal;

type Verdict = 'good' | 'bad' | 'doubtful' | 'none';

/**
 * Rates an outcome. A backend that answers is available, even with a rejection or a reply that is too large. One principal
 * alone can cause a timeout or an invalid reply, as it chooses the tool and its arguments.
 */
function verdictOf(outcome: FailureKind | 'ok', { isolated }: CircuitPolicy): Verdict {
  switch (outcome) {
    case 'unavailable':
      return isolated ? 'doubtful' : 'bad';
    case 'timeout':
    case 'garbage':
      return 'doubtful';
    case 'ok':
    case 'unauthenticated':
    case 'too_large':
      return 'good';
    case 'refused':
    case 'cancelled':
    case 'session_lost':
    case 'circuit_open':
    case 'overloaded':
    case 'credential_unavailable':
    case 'reauthenticate':
    case 'forbidden':
    case 'misconfigured':
    case 'store_unavailable':
      return 'none';
  }
}

/** The circuit of one backend. */
export interface Circuit {
  readonly current: CircuitState;
  /** Returns undefined when the call is admitted; `settled` must follow. Else the seconds to wait. */
  refuses(): number | undefined;
  /** Records the end of a call of `principal`. */
  settled(outcome: FailureKind | 'ok', principal: string): void;
  /** Records the end of a probe. */
  probed(outcome: FailureKind | 'ok'): void;
}

export function createCircuit(policy: CircuitPolicy, now: () => number): Circuit {
  let current = CLOSED;
  let probeFailed = false;
  return {
    get current() {
      return current;
    },
    refuses() {
      if (current.state === 'closed') return undefined;
      const admission = admit(current, policy, now());
      if (!admission.admitted) return admission.retryAfterSeconds;
      current = admission.circuit;
      return undefined;
    },
    settled(outcome, principal) {
      if (outcome === 'ok' && current.state === 'closed' && hasNoFailures(current)) return;
      current = afterCall(current, policy, { outcome, principal, probeFailed, now: now() });
    },
    probed(outcome) {
      const verdict = verdictOf(outcome, policy);
      if (verdict === 'none') return;
      probeFailed = verdict !== 'good';
      if (probeFailed) current = afterFailedProbe(current, policy, now());
    },
  };
}
