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

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/u;
const SAMPLED = 1;

interface SpanReference {
  readonly traceId: string;
  readonly spanId: string;
  readonly isSampled: boolean;
}

/** Reads a `traceparent`; undefined when it is invalid. @see W3C Trace Context, 3.2 */
export function parseTraceparent(text: string): SpanReference | undefined {
  const [, version, traceId = '', spanId = '', flags = '', rest] = TRACEPARENT.exec(text) ?? [];
  if (version === undefined || version === 'ff' || (version === '00' && rest !== undefined)) return undefined;
  if (/^0+$/u.test(traceId) || /^0+$/u.test(spanId)) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & SAMPLED) === SAMPLED };
}

/** Parent of a request, and the context that its span links to. */
interface Origin {
  readonly parent: TraceContext | undefined;
  readonly link: TraceContext | undefined;
}

/**
 * Returns the parent of a request: the context in `_meta`, because several messages can share an HTTP request, else that
 * of the headers. A different context of the headers becomes a link. @see OpenTelemetry semantic-conventions-genai,
 * gen-ai/mcp.md, Context propagation
 */
export function originOf(meta: TraceContext | undefined, header: TraceContext | undefined): Origin {
  const inMeta = isValid(meta) ? meta : undefined;
  const inHeader = isValid(header) ? header : undefined;
  if (!inMeta) return { parent: inHeader, link: undefined };
  return { parent: inMeta, link: inHeader?.traceparent === inMeta.traceparent ? undefined : inHeader };
}

const isValid = (context: TraceContext | undefined): boolean =>
  context !== undefined && parseTraceparent(context.traceparent) !== undefined;
