import { spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../free-port.ts';
import { eventually } from '../poll.ts';
import { python } from '../python.ts';
import type { Scope } from '../scope.ts';

type Values = Readonly<Record<string, string | number>>;

/** A span as an independent decoder of OTLP reads it. */
export interface ReceivedSpan {
  readonly name: string;
  readonly kind: string;
  /** Hexadecimal ids; '' for a root. */
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly traceState: string;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly attributes: Values;
  readonly status: Readonly<Record<string, string>>;
  readonly resource: Values;
}

export interface ReceivedMetric {
  readonly name: string;
  readonly unit: string;
  readonly points: readonly {
    readonly attributes: Values;
    readonly bounds: readonly number[] | undefined;
    readonly count: number | undefined;
    readonly counts: readonly number[];
  }[];
  readonly resource: Values;
}

export interface Collector {
  readonly endpoint: string;
  /** Everything that arrived, as JSON text. */
  text(): Promise<string>;
  /** Headers of each request. */
  headers(): Promise<Readonly<Record<string, string>>[]>;
  spans(): Promise<ReceivedSpan[]>;
  metrics(): Promise<ReceivedMetric[]>;
  /** `accept`, `hang`, or an HTTP status. */
  behave(mode: string): Promise<void>;
}

interface Attribute {
  readonly key: string;
  readonly value: { readonly stringValue?: string; readonly intValue?: string; readonly doubleValue?: number };
}

type Json = Readonly<Record<string, never>> & {
  readonly resource: { readonly attributes: readonly Attribute[] };
};

interface Received {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly message: { readonly resourceSpans?: readonly Json[]; readonly resourceMetrics?: readonly Json[] };
}

const here = dirname(fileURLToPath(import.meta.url));

/** Starts an OTLP/HTTP receiver that decodes with the Python bindings of OpenTelemetry. */
export async function startCollector(scope: Scope): Promise<Collector> {
  const port = await freePort();
  const child = spawn(await python(), [join(here, 'collector.py'), String(port)], { stdio: 'inherit' });
  scope.defer(() => child.kill('SIGKILL'));
  const endpoint = `http://127.0.0.1:${port}`;
  const text = async (): Promise<string> => (await fetch(`${endpoint}/received`)).text();
  const all = async (): Promise<Received[]> => JSON.parse(await text()) as Received[];
  await eventually('the collector listens', async () => (await text()) === '[]', { timeoutMs: 60_000 });
  return {
    endpoint,
    text,
    headers: async () => (await all()).map(({ headers }) => headers),
    spans: async () => (await all()).flatMap(({ message }) => (message.resourceSpans ?? []).flatMap(spansOf)),
    metrics: async () => (await all()).flatMap(({ message }) => (message.resourceMetrics ?? []).flatMap(metricsOf)),
    behave: async (mode) => {
      await fetch(`${endpoint}/${mode}`, { method: 'PUT' });
    },
  };
}

const valuesOf = (attributes: readonly Attribute[] = []): Values =>
  Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      value.stringValue ?? (value.intValue === undefined ? (value.doubleValue ?? '') : Number(value.intValue)),
    ]),
  );

/** Ids are base64 in the JSON form of protobuf. */
const hex = (base64 = ''): string => Buffer.from(base64, 'base64').toString('hex');

function spansOf({ resource, ...rest }: Json): ReceivedSpan[] {
  const { scopeSpans } = rest as unknown as {
    scopeSpans: {
      spans: (Record<string, string> & {
        attributes: Attribute[];
        links?: Record<string, string>[];
        status?: Record<string, string>;
      })[];
    }[];
  };
  return scopeSpans.flatMap(({ spans }) =>
    spans.map(({ attributes, links = [], status = {}, ...span }) => ({
      name: span['name'] ?? '',
      kind: span['kind'] ?? '',
      traceId: hex(span['traceId']),
      spanId: hex(span['spanId']),
      parentSpanId: hex(span['parentSpanId']),
      traceState: span['traceState'] ?? '',
      links: links.map((link) => ({ traceId: hex(link['traceId']), spanId: hex(link['spanId']) })),
      attributes: valuesOf(attributes),
      status,
      resource: valuesOf(resource.attributes),
    })),
  );
}

interface Point {
  readonly attributes?: readonly Attribute[];
  readonly explicitBounds?: readonly number[];
  readonly count?: string;
  readonly bucketCounts?: readonly string[];
}

type Points = { readonly dataPoints: readonly Point[] } | undefined;

function metricsOf({ resource, ...rest }: Json): ReceivedMetric[] {
  const { scopeMetrics } = rest as unknown as {
    scopeMetrics: { metrics: { name: string; unit?: string; histogram?: Points; sum?: Points; gauge?: Points }[] }[];
  };
  return scopeMetrics.flatMap(({ metrics }) =>
    metrics.map(({ name, unit = '', histogram, sum, gauge }) => ({
      name,
      unit,
      points: ((histogram ?? sum ?? gauge)?.dataPoints ?? []).map((point) => ({
        attributes: valuesOf(point.attributes),
        bounds: point.explicitBounds,
        count: point.count === undefined ? undefined : Number(point.count),
        counts: (point.bucketCounts ?? []).map(Number),
      })),
      resource: valuesOf(resource.attributes),
    })),
  );
}
