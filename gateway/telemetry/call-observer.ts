import type { CallFacts } from '../policy/policy.ts';

export type CallOutcome =
  | 'ok'
  | 'tool_error' // a result with `isError`
  | 'error' // a JSON-RPC error of the backend
  | 'denied' // by a policy
  | 'cancelled'
  | 'timeout'
  | 'unavailable'; // every other failure

/** A forwarded call that has ended. Valid during the notification only. */
export interface EndedCall extends CallFacts {
  /** Read from the reply at each access. A reply that was forwarded in pieces counts as `ok`. */
  readonly outcome: CallOutcome;
  /** Kind of the failure; undefined when the backend replied. */
  readonly failure: string | undefined;
  /** False when the call ended before its backend was called: denied, queue full, circuit open, backend removed. */
  readonly isSent: boolean;
  readonly durationMs: number;
}

/** Receiver of every forwarded call of one virtual server, once, when it ends. */
export interface CallObserver {
  ended(call: EndedCall): void;
}
