import { existsSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { clusterBinary } from '../control-plane/binaries.ts';
import { freePort } from '../free-port.ts';
import { eventually } from '../poll.ts';
import type { Scope } from '../scope.ts';
import { runCommand, temporaryFolder } from '../vmcp.ts';

/** The OpenTelemetry Collector; undefined where it is not built. */
export const otelcol = clusterBinary('otelcol');

interface Attributes {
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[];
}

/** Span in the JSON form of OTLP: ids are hexadecimal, `kind` is a number. */
export interface OtlpSpan extends Attributes {
  readonly name: string;
  readonly kind: number;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
}

export interface OtlpMetric {
  readonly name: string;
  readonly unit?: string;
  readonly histogram?: { readonly dataPoints: readonly (Attributes & { readonly count: string })[] };
}

interface Received {
  readonly resourceSpans?: readonly { readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[] }[];
  readonly resourceMetrics?: readonly {
    readonly scopeMetrics: readonly { readonly metrics: readonly OtlpMetric[] }[];
  }[];
}

/** Starts the OpenTelemetry Collector with an OTLP/HTTP receiver, which writes to a file what it has received. */
export async function startOtelcol(scope: Scope) {
  const folder = await temporaryFolder(scope);
  const [file, config, port] = [join(folder, 'received.json'), join(folder, 'collector.json'), await freePort()];
  const pipeline = { receivers: ['otlp'], exporters: ['file'] };
  const settings = {
    receivers: { otlp: { protocols: { http: { endpoint: `127.0.0.1:${String(port)}` } } } },
    exporters: { file: { path: file, flush_interval: '50ms' } },
    service: {
      pipelines: { traces: pipeline, metrics: pipeline },
      telemetry: { metrics: { level: 'none' }, logs: { level: 'warn' } },
    },
  };
  await writeFile(config, JSON.stringify(settings));
  const run = await runCommand(scope, [otelcol ?? 'otelcol', '--config', `file:${config}`], {});
  const endpoint = `http://127.0.0.1:${String(port)}`;
  await eventually('the collector listens', async () => !run.running() || (await fetch(endpoint)).status === 404);
  if (!run.running()) throw new Error(`the collector ended: ${run.output()}`);
  const received = (): Received[] => {
    const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
    const lines = text.slice(0, text.lastIndexOf('\n') + 1).split('\n');
    return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Received);
  };
  return {
    endpoint,
    /** Log lines of the collector, from level warn. */
    log: run.output,
    text: () => (existsSync(file) ? readFileSync(file, 'utf8') : ''),
    spans: (): OtlpSpan[] =>
      received().flatMap(({ resourceSpans: all = [] }) =>
        all.flatMap((one) => one.scopeSpans.flatMap((each) => each.spans)),
      ),
    metrics: (): OtlpMetric[] =>
      received().flatMap(({ resourceMetrics: all = [] }) =>
        all.flatMap((one) => one.scopeMetrics.flatMap((each) => each.metrics)),
      ),
  };
}
