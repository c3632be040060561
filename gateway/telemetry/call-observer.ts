import type { CallFacts } from '../policy/policy.ts';

export type CallOutcome =
  | 'ok'
  | 'tool_error' // a result with `isError`
  | 'error' // a JSON-RPC error of the backend
  | 'denied' // by a policy
  | 'cancelled'
  | 'timeout'
  | 'unavailable'; // every other failure

/** Network side of a backend, in terms of the OpenTelemetry attributes `network.transport` and `server.*`. */
export interface Peer {
  readonly transport: 'tcp' | 'pipe';
  readonly address?: string;
  readonly port?: number;
}

/** A forwarded call that has ended. Valid during the notification only. */
export interface EndedCall extends CallFacts {
  /** Read from the reply at each access. */
  readonly outcome: CallOutcome;
  /** Kind of the failure; undefined when the backend replied. */
  readonly failure: string | undefined;
  /**
   * `error.type` of OpenTelemetry: the kind of the failure, the JSON-RPC code in the reply, or `tool_error`; undefined for
   * a success.
   */
  readonly errorType: string | undefined;
  /** False when the call ended before its backend was called: denied, queue full, circuit open, backend removed. */
  readonly isSent: boolean;
  readonly durationMs: number;
  /** Name of the tool or prompt at the backend, or URI; undefined when the call was not sent. */
  readonly originalName?: string | undefined;
  /** MCP revision towards the backend; undefined before its handshake. */
  readonly backendRevision?: string | undefined;
  readonly peer?: Peer | undefined;
}

/** A request of a client that has its answer. */
export interface AnsweredRequest {
  /** A method of MCP, or `_OTHER`. */
  readonly method: string;
  /** Advertised name of the tool or prompt; undefined for other methods and for names that do not exist. */
  readonly target: string | undefined;
  /** Negotiated MCP revision; undefined when `initialize` failed. */
  readonly revision: string | undefined;
  /** `error.type` as the client sees it: a JSON-RPC code, `tool_error`, or a word for a refusal by HTTP status. */
  readonly errorType: string | undefined;
  readonly durationMs: number;
}

export interface ObservedSession {
  readonly revision: string;
  readonly durationMs: number;
}

/** A session of the gateway at a backend. */
export interface EndedBackendSession extends ObservedSession {
  readonly backend: string;
  readonly peer: Peer;
  readonly errorType: string | undefined;
}

/** Receiver of the events of one virtual server. */
export interface CallObserver {
  /** Receives every forwarded call, once, when it ends. */
  ended(call: EndedCall): void;
  /** Receives every request of a client, once, when it has its answer. */
  answered?(request: AnsweredRequest): void;
  sessionEnded?(session: ObservedSession): void;
  backendSessionEnded?(session: EndedBackendSession): void;
}
