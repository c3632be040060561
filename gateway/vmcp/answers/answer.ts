import { RETRY_AFTER_SECONDS, type Budget } from '../budgets/limits.ts';
import { CODE } from '../error-codes.ts';
import type { RequestTrace } from '../../telemetry/tracing.ts';
import type { Capabilities } from '../server-requests.ts';
import type { ReplySink } from '../transport/channel.ts';

/** A call that ends when its client can no longer receive the reply. */
export interface WatchingCall {
  clientLeft(): void;
}

/** Destination of the reply to one client request, for any client transport. */
export interface Answer extends Omit<ReplySink, 'fail' | 'reply'> {
  /** JSON text of the client's id. */
  readonly id: Buffer;
  /** Trace of a sampled request. */
  readonly trace?: RequestTrace | undefined;
  /** Called when the item that the request names exists: its advertised name, or its URI. */
  routed?(name: string, backend: string): void;
  /** Sends the whole reply of a backend. `errorType` is the `error.type` of OpenTelemetry. */
  reply(message: Buffer, errorType?: string): void;
  /** `result` is JSON text. `errorType` is that of a result which reports an error. */
  result(result: Buffer | string, errorType?: string): void;
  error(code: number, message: string, data?: unknown): void;
  /**
   * Answers 401: the client must log in again. With `scopes` 403: it must log in with more scopes. Returns false when
   * the response has started.
   */
  challenge(description: string, scopes?: readonly string[]): boolean;
  /** Answers a JSON-RPC error, with the status where the revision has no sessions and the response has not started. */
  refuse(refusal: CallRefusal): void;
  /** Refuses with 503. Returns false when the response has started. */
  unavailable(description: string): boolean;
  /** Refuses with 503 because a budget is exceeded. Returns false when the response has started. */
  busy(description: string, budget: Budget): boolean;
  /** Notifies `call` when the client has left and cannot receive the reply, until `unwatchClient`. */
  watchClient(call: WatchingCall): void;
  unwatchClient(): void;
  /** Ends the exchange without a reply. */
  drop(): void;
  /** False as long as nothing was sent. */
  readonly started: boolean;
  /** True when the client has left and nothing was sent: no reply can reach it. */
  readonly isLost?: boolean;
  /** Rejects the call, because its backend needs capabilities that the client has not declared. */
  lacks?(missing: Capabilities): void;
}

/** A rejected call in terms of HTTP and JSON-RPC. */
export interface CallRefusal {
  /** Status where the revision has no sessions. In a session it is 200. */
  readonly status: 403 | 429 | 503;
  readonly code: number;
  readonly message: string;
  readonly data: object;
  readonly retryAfterSeconds?: number | undefined;
}

/** Refusal of what would keep a gateway running that stops. */
export const SHUTTING_DOWN: CallRefusal = {
  status: 503,
  code: CODE.internal,
  message: 'the gateway is shutting down: try again',
  data: {},
  retryAfterSeconds: 1,
};

/** Seconds to wait before a retry while the login store is unavailable. */
export const STORE_RETRY_AFTER_SECONDS = 5;

/** Returns the `data` of an error for an exceeded budget: a stable reason and the time to retry. */
export const overBudget = (budget: Budget): object => ({
  reason: 'over_budget',
  budget,
  retryAfterSeconds: RETRY_AFTER_SECONDS,
});
