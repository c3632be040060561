import type { EndedCall, Peer } from './call-observer.ts';

/** Context of a trace as text. @see W3C Trace Context, W3C Baggage */
export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate?: string | undefined;
  readonly baggage?: string | undefined;
}

/** A request of a client that is sampled. */
export interface TracedRequest {
  readonly method: string;
  /** JSON text of the id. */
  readonly id: string;
  readonly revision: string | undefined;
  /** Undefined for `initialize`. */
  readonly sessionId: string | undefined;
  /** Context in `params._meta`. */
  readonly meta: TraceContext | undefined;
  /** Context in the headers of the HTTP request. */
  readonly header: TraceContext | undefined;
}

/** A sampled request until it has its answer. */
export interface RequestTrace {
  /** The item that the request names exists: its advertised name, or its URI. */
  routed(name: string): void;
  /** The request is sent to a backend. Returns the context to send with it. */
  sending(call: { readonly name: string; readonly backend: string; readonly peer: Peer }): TraceContext;
  /** The call of the backend has ended. */
  received(call: EndedCall): void;
  /** The client has its answer. `message` is a text of the gateway itself. */
  answered(errorType: string | undefined, message?: string): void;
}

/** Traces of one virtual server. */
export interface Tracing {
  /**
   * Decides before anything is allocated: the decision of the caller is followed, of other requests a share is sampled.
   * The arguments are the `traceparent` of `params._meta`, which counts, and of the HTTP request.
   */
  isSampled(inMeta: string | undefined, inHeader: string | undefined): boolean;
  begin(request: TracedRequest): RequestTrace;
}
