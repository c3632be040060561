import type { TraceContext } from './tracing.ts';

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/u;
const SAMPLED = 1;

export interface SpanReference {
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
export interface Origin {
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
