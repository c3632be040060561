import { isHeaderValue } from '../../contract/reserved-names.ts';
import type { IncomingHttpHeaders } from 'node:http';
import { readString, type ClientEnvelope, type Span } from '../../http/json-scan.ts';
import { memberOf, skipWhitespace, withMember } from '../../http/json-walk.ts';
import type { RequestTrace, TraceContext, Tracing } from '../../telemetry/tracing.ts';
import type { BackendRequest } from '../transport/channel.ts';

/** Longest `baggage` that is sent on. @see W3C Baggage, 3.3.2 */
const LONGEST_BAGGAGE = 8_192;

/** Names of the context in headers and in `params._meta`. @see MCP SEP-414 */
const KEYS = ['traceparent', 'tracestate', 'baggage'] as const;

/** The session of a request; without an id for `initialize`. */
export interface TracedSession {
  readonly id?: string;
  readonly revision: string;
}

/** A message as the edge has received it. */
export interface TracedMessage {
  readonly body: Buffer;
  readonly envelope: ClientEnvelope;
  readonly received: IncomingHttpHeaders;
}

/** Begins the trace of a request when it is sampled. */
export function beginTrace(
  tracing: Tracing,
  method: string,
  session: TracedSession | undefined,
  { body, envelope: { id, surface }, received: headers }: TracedMessage,
): RequestTrace | undefined {
  const meta = surface?.meta;
  const inMeta = meta && metaText(body, meta, 'traceparent');
  if (!tracing.isSampled(inMeta, headerText(headers, 'traceparent'))) return undefined;
  return tracing.begin({
    method,
    id: id ? body.toString('utf8', id.start, id.end) : '',
    revision: session?.revision,
    sessionId: session?.id,
    meta: contextOf((key) => metaText(body, meta, key)),
    header: contextOf((key) => headerText(headers, key)),
  });
}

const metaText = (body: Buffer, meta: Span | undefined, key: string): string | undefined =>
  readString(body, memberOf(body, meta, key));

function headerText(headers: IncomingHttpHeaders, key: string): string | undefined {
  const value = headers[key];
  return typeof value === 'string' ? value : undefined;
}

/** Returns undefined without a `traceparent`. */
function contextOf(valueOf: (key: (typeof KEYS)[number]) => string | undefined): TraceContext | undefined {
  const traceparent = valueOf('traceparent');
  if (traceparent === undefined) return undefined;
  const baggage = valueOf('baggage');
  const isSent = baggage !== undefined && baggage.length <= LONGEST_BAGGAGE && isHeaderValue(baggage);
  return { traceparent, tracestate: valueOf('tracestate'), baggage: isSent ? baggage : undefined };
}

/** Returns a request that carries the context in `params._meta` and in its headers. */
export const traced = (request: BackendRequest, context: TraceContext): BackendRequest => ({
  ...request,
  params: request.params && withTraceContext(request.params, context),
  headers: { ...request.headers, ...traceHeaders(context) },
});

/** Returns the JSON text of `params` with the context in `_meta`, and every other byte unchanged. */
export function withTraceContext(params: Buffer, context: TraceContext): Buffer {
  const start = skipWhitespace(params, 0);
  const whole = { start, end: params.length };
  const meta = memberOf(params, whole, '_meta');
  if (!meta || params[meta.start] !== 0x7b) return withMember(params, whole, '_meta', JSON.stringify(context));
  // a `tracestate` of another trace must not stay beside the new parent
  const { tracestate = memberOf(params, meta, 'tracestate') && '' } = context;
  let own: Buffer = params.subarray(meta.start, meta.end);
  for (const [key, value] of Object.entries({ ...context, tracestate })) {
    if (value !== undefined) own = withMember(own, { start: 0, end: own.length }, key, JSON.stringify(value));
  }
  return Buffer.concat([params.subarray(start, meta.start), own, params.subarray(meta.end)]);
}

const traceHeaders = (context: TraceContext): Record<string, string> =>
  Object.fromEntries(KEYS.flatMap((key) => (context[key] ? [[key, context[key]] as const] : [])));
