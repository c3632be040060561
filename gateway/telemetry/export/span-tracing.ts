import { isSessionless } from '../../contract/protocol/revisions.ts';
import { methodOf } from '../../contract/protocol/methods.ts';
import {
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Context,
  type Span,
  type SpanContext,
  type Tracer,
} from '@opentelemetry/api';
import { TraceState } from '@opentelemetry/core';
import type { EndedCall, Peer } from '../call-observer.ts';
import { attributesOf, peerAttributes, type Attributes } from '../mcp-attributes.ts';
import { originOf, parseTraceparent } from '../tracing.ts';
import type { RequestTrace, TraceContext, TracedRequest, Tracing } from '../tracing.ts';

export interface SpanTracingOptions {
  readonly tracer: Tracer;
  /** Share of the requests without a parent that are sampled, 0 to 1. */
  readonly samplingRate: number;
  readonly random: () => number;
  /** Attributes of every span of a request. */
  readonly attributes: Attributes;
  /** Adds the attributes under their deprecated names. */
  readonly withLegacyNames: boolean;
}

/** Longest `jsonrpc.request.id`: clients choose it. */
const LONGEST_ID = 128;

/** Traces as spans of OpenTelemetry. @see OpenTelemetry semantic-conventions-genai, gen-ai/mcp.md, Spans */
export class SpanTracing implements Tracing {
  readonly #options: SpanTracingOptions;

  constructor(options: SpanTracingOptions) {
    this.#options = options;
  }

  isSampled(inMeta: string | undefined, inHeader: string | undefined): boolean {
    const parent =
      (inMeta === undefined ? undefined : parseTraceparent(inMeta)) ??
      (inHeader === undefined ? undefined : parseTraceparent(inHeader));
    const { random, samplingRate } = this.#options;
    return parent ? parent.isSampled : random() < samplingRate;
  }

  begin(request: TracedRequest): RequestTrace {
    return new SpanRequestTrace(request, this.#options);
  }
}

/** The span of a request of a client, and that of its call of a backend. */
class SpanRequestTrace implements RequestTrace {
  readonly #options: SpanTracingOptions;
  readonly #method: string;
  readonly #span: Span;
  readonly #baggage: string | undefined;
  #call: Span | undefined;

  constructor({ method, id, revision = '', sessionId, meta, header }: TracedRequest, options: SpanTracingOptions) {
    const { parent, link } = originOf(meta, header);
    this.#options = options;
    this.#method = method;
    this.#baggage = parent?.baggage;
    const linked = link && spanContextOf(link);
    this.#span = options.tracer.startSpan(
      method,
      {
        kind: SpanKind.SERVER,
        ...(linked && { links: [{ context: linked }] }),
        attributes: this.#named({
          ...options.attributes,
          ...attributesOf({ method, target: '', errorType: '', revision }),
          ...peerAttributes({ transport: 'tcp' }),
          'jsonrpc.request.id': idText(id).slice(0, LONGEST_ID),
          ...(sessionId !== undefined && !isSessionless(revision) && { 'mcp.session.id': sessionId }),
        }),
      },
      contextWith(parent && spanContextOf(parent)),
    );
  }

  routed(name: string): void {
    this.#name(this.#span, name);
  }

  sending({ name, backend, peer }: { name: string; backend: string; peer: Peer }): TraceContext {
    const call = this.#options.tracer.startSpan(
      this.#method,
      {
        kind: SpanKind.CLIENT,
        attributes: {
          ...attributesOf({ method: this.#method, target: '', errorType: '', revision: '' }),
          ...peerAttributes(peer),
          'vmcp.backend': backend,
        },
      },
      trace.setSpan(ROOT_CONTEXT, this.#span),
    );
    this.#call = call;
    this.#name(call, name);
    const { traceId, spanId, traceState } = call.spanContext();
    const tracestate = traceState?.serialize();
    return {
      traceparent: `00-${traceId}-${spanId}-01`,
      tracestate: tracestate === '' ? undefined : tracestate,
      baggage: this.#baggage,
    };
  }

  received({ errorType, backendRevision }: EndedCall): void {
    const call = this.#call;
    if (!call) return;
    if (backendRevision !== undefined) call.setAttribute('mcp.protocol.version', backendRevision);
    this.#end(call, errorType);
    this.#call = undefined;
  }

  answered(errorType: string | undefined, message?: string): void {
    this.#end(this.#span, errorType, message);
  }

  /** Adds the item to a span: to its name only where the items are few. */
  #name(span: Span, name: string): void {
    const method = this.#method;
    if (methodOf(method).target) {
      span.updateName(`${method} ${name}`);
      span.setAttributes(this.#named(attributesOf({ method, target: name, errorType: '', revision: '' })));
    } else if (method.startsWith('resources/')) span.setAttribute('mcp.resource.uri', withoutSecrets(name));
  }

  #end(span: Span, errorType: string | undefined, message?: string): void {
    if (errorType !== undefined) {
      const { 'error.type': type = errorType, 'rpc.response.status_code': code } = attributesOf({
        method: '',
        target: '',
        errorType,
        revision: '',
      });
      span.setAttributes(
        this.#named({ 'error.type': type, ...(code !== undefined && { 'rpc.response.status_code': code }) }),
      );
      span.setStatus({ code: SpanStatusCode.ERROR, ...(message !== undefined && { message }) });
    }
    span.end();
  }

  #named(attributes: Attributes): Attributes {
    return this.#options.withLegacyNames ? { ...attributes, ...legacyAttributes(attributes) } : attributes;
  }
}

/** Names in earlier versions of the conventions. */
const LEGACY_NAMES: ReadonlyMap<string, string> = new Map([
  ['gen_ai.tool.name', 'mcp.tool.name'],
  ['gen_ai.prompt.name', 'mcp.prompt.name'],
  ['jsonrpc.request.id', 'mcp.request.id'],
  ['rpc.response.status_code', 'rpc.jsonrpc.error_code'],
]);

const legacyAttributes = (attributes: Attributes): Attributes =>
  Object.fromEntries(
    Object.entries(attributes).flatMap(([name, value]) => {
      const legacy = LEGACY_NAMES.get(name);
      return legacy === undefined ? [] : [[legacy, value] as const];
    }),
  );

/** @param json text of a string or a number */
const idText = (json: string): string => (json.startsWith('"') ? (JSON.parse(json) as string) : json);

/** Removes the parts of a URI that may hold a secret: user, query and fragment. */
const withoutSecrets = (uri: string): string =>
  (uri.split(/[?#]/u, 1)[0] ?? '').replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/@]*@/iu, '$1');

function spanContextOf({ traceparent, tracestate }: TraceContext): SpanContext | undefined {
  const parsed = parseTraceparent(traceparent);
  if (!parsed) return undefined;
  const { traceId, spanId, isSampled } = parsed;
  return {
    traceId,
    spanId,
    traceFlags: isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
    isRemote: true,
    ...(tracestate !== undefined && { traceState: new TraceState(tracestate) }),
  };
}

const contextWith = (parent: SpanContext | undefined): Context =>
  parent ? trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT;
