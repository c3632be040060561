import type { Context } from '@opentelemetry/api';
import { ExportResultCode } from '@opentelemetry/core';
import { ProtobufMetricsSerializer, ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import type { PushMetricExporter, ResourceMetrics } from '@opentelemetry/sdk-metrics';
import {
  BatchSpanProcessor,
  type ReadableSpan,
  type Span,
  type SpanExporter,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace';
import { EXPORT_TIMEOUT_MS, type OtlpSender, type Signal } from './otlp-sender.ts';
import type { Logger } from '../../contract/logger.ts';

const LOG_EVERY_MS = 60_000;

export interface ExportLossesOptions {
  readonly log: Pick<Logger, 'warn'>;
  /** ms since the epoch. */
  readonly now: () => number;
  /** Counts spans or metric exports that did not reach the collector. */
  readonly onDropped: (signal: Signal, count: number) => void;
}

/** Counts what does not reach the collector, and logs it at most once a minute. */
export class ExportLosses {
  readonly #options: ExportLossesOptions;
  #loggedAt = -Infinity;
  #unlogged = 0;

  constructor(options: ExportLossesOptions) {
    this.#options = options;
  }

  dropped(signal: Signal, count: number, reason: string): void {
    const { log, now, onDropped } = this.#options;
    onDropped(signal, count);
    this.#unlogged += count;
    if (now() - this.#loggedAt < LOG_EVERY_MS) return;
    this.#loggedAt = now();
    log.warn('telemetry was not exported', { signal, reason, dropped: this.#unlogged });
    this.#unlogged = 0;
  }
}

/** Most spans that wait for the collector; 512 go in one request. */
const MOST_WAITING_SPANS = 2_048;
const SPAN_DELAY_MS = 1_000;
/** Ends after the timeout of the sender, which has the better message. */
const DEADLINE_MS = EXPORT_TIMEOUT_MS + 1_000;

/** Result of every export: losses are counted here, and the SDK would report them again. */
const HANDLED = { code: ExportResultCode.SUCCESS };

/** Sends finished spans in batches. Drops spans while too many wait. */
export class BoundedSpanProcessor implements SpanProcessor {
  readonly #batches: BatchSpanProcessor;
  readonly #losses: ExportLosses;
  #waiting = 0;

  constructor(sender: OtlpSender, losses: ExportLosses) {
    this.#losses = losses;
    this.#batches = new BatchSpanProcessor({
      exporter: spanExporter(sender, losses, (count) => {
        this.#waiting -= count;
      }),
      maxQueueSize: MOST_WAITING_SPANS,
      scheduledDelayMillis: SPAN_DELAY_MS,
      exportTimeoutMillis: DEADLINE_MS,
    });
  }

  onStart(span: Span, context: Context): void {
    this.#batches.onStart(span, context);
  }

  onEnd(span: ReadableSpan): void {
    if (this.#waiting >= MOST_WAITING_SPANS) {
      this.#losses.dropped('traces', 1, 'too many spans wait for the collector');
      return;
    }
    this.#waiting += 1;
    this.#batches.onEnd(span);
  }

  forceFlush(): Promise<void> {
    return this.#batches.forceFlush();
  }

  shutdown(): Promise<void> {
    return this.#batches.shutdown();
  }
}

/** `onDone` receives the number of spans that no longer wait. */
function spanExporter(sender: OtlpSender, losses: ExportLosses, onDone: (count: number) => void): SpanExporter {
  return {
    export(spans, callback) {
      const body = ProtobufTraceSerializer.serializeRequest(spans) ?? new Uint8Array();
      sender
        .send(body)
        .then(({ body: reply }) => {
          const rejected = ProtobufTraceSerializer.deserializeResponse(reply).partialSuccess?.rejectedSpans ?? 0;
          if (rejected > 0) losses.dropped('traces', rejected, 'the collector rejected spans');
        })
        .catch((error: unknown) => {
          losses.dropped('traces', spans.length, (error as Error).message);
        })
        .finally(() => {
          onDone(spans.length);
          callback(HANDLED);
        });
    },
    shutdown: () => Promise.resolve(),
  };
}

/** Sends the metrics of one collection. */
export function metricExporter(sender: OtlpSender, losses: ExportLosses): PushMetricExporter {
  return {
    export(metrics: ResourceMetrics, callback) {
      const body = ProtobufMetricsSerializer.serializeRequest(metrics) ?? new Uint8Array();
      sender
        .send(body)
        .catch((error: unknown) => {
          losses.dropped('metrics', 1, (error as Error).message);
        })
        .finally(() => {
          callback(HANDLED);
        });
    },
    forceFlush: () => Promise.resolve(),
    shutdown: () => Promise.resolve(),
  };
}
