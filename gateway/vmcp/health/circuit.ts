import type { FailureKind } from '../transport/channel.ts';

export interface CircuitPolicy {
  readonly enabled: boolean;
  /** Failures in a row that open the circuit. */
  readonly failureThreshold: number;
  /** From opening to the one trial call, ms. */
  readonly timeoutMs: number;
}

export interface CircuitState {
  readonly state: 'closed' | 'open' | 'half_open';
  /** Failures in a row, while closed. */
  readonly failures: number;
  /** Epoch ms of the last change of `state`. */
  readonly changedAt: number | undefined;
}

const CLOSED: CircuitState = { state: 'closed', failures: 0, changedAt: undefined };

/** Seconds to wait while the one trial of a half-open circuit runs: it ends within the call's own timeout. */
const TRIAL_RETRY_SECONDS = 1;

type Admission =
  | { readonly admitted: true; readonly circuit: CircuitState }
  | { readonly admitted: false; readonly retryAfterSeconds: number };

/** Whether a call may go to the backend at `now`. Half-open means that a trial call runs: every other call waits for it. */
function admit(circuit: CircuitState, policy: CircuitPolicy, now: number): Admission {
  if (!policy.enabled || circuit.state === 'closed') return { admitted: true, circuit };
  if (circuit.state === 'half_open') return { admitted: false, retryAfterSeconds: TRIAL_RETRY_SECONDS };
  const leftMs = (circuit.changedAt ?? 0) + policy.timeoutMs - now;
  if (leftMs > 0) return { admitted: false, retryAfterSeconds: Math.ceil(leftMs / 1_000) };
  return { admitted: true, circuit: { state: 'half_open', failures: 0, changedAt: now } };
}

/** The circuit after an admitted call ended at `now`. What ends while it is open was admitted before, and says nothing. */
function afterCall(
  circuit: CircuitState,
  policy: CircuitPolicy,
  outcome: FailureKind | 'ok',
  now: number,
): CircuitState {
  if (!policy.enabled || circuit.state === 'open') return circuit;
  const verdict = verdictOf(outcome);
  if (circuit.state === 'half_open') {
    if (verdict === 'good') return { ...CLOSED, changedAt: now };
    if (verdict === 'bad') return { state: 'open', failures: 0, changedAt: now };
    // The trial said nothing: the next call is the trial.
    return { state: 'open', failures: 0, changedAt: now - policy.timeoutMs };
  }
  if (verdict === 'good') return circuit.failures === 0 ? circuit : { ...circuit, failures: 0 };
  if (verdict === 'none') return circuit;
  const failures = circuit.failures + 1;
  return failures < policy.failureThreshold ? { ...circuit, failures } : { state: 'open', failures: 0, changedAt: now };
}

/** A backend that answers, were it with a refusal or too much, is there. */
function verdictOf(outcome: FailureKind | 'ok'): 'good' | 'bad' | 'none' {
  switch (outcome) {
    case 'unavailable':
    case 'timeout':
    case 'garbage':
      return 'bad';
    case 'ok':
    case 'unauthenticated':
    case 'too_large':
      return 'good';
    case 'refused':
    case 'cancelled':
    case 'session_lost':
    case 'circuit_open':
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
  /** undefined: the call may go, and `settled` must be told its end. Else the seconds after which to try again. */
  refuses(): number | undefined;
  settled(outcome: FailureKind | 'ok'): void;
}

export function createCircuit(policy: CircuitPolicy, now: () => number): Circuit {
  let current = CLOSED;
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
    settled(outcome) {
      if (outcome === 'ok' && current === CLOSED) return;
      current = afterCall(current, policy, outcome, now());
    },
  };
}
