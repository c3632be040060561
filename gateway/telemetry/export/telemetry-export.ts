import type { HrTime } from '@opentelemetry/api';
import {
  MeterProvider,
  PeriodicExportingMetricReader,
  type MetricData,
  type MetricProducer,
} from '@opentelemetry/sdk-metrics';
import { AlwaysOnSampler, TracerProvider } from '@opentelemetry/sdk-trace';
import { isHeaderValue } from '../../contract/reserved-names.ts';
import type { Logger } from '../../contract/logger.ts';
import { DEFAULT_SAMPLING_RATE, type TelemetryConfig } from '../../contract/run-config/telemetry.ts';
import { createOutbound, type Outbound } from '../../outbound/fetch.ts';
import { policyFor } from '../../outbound/policy.ts';
import { OPERATION_METRICS } from '../operation-metrics.ts';
import type { ExportedMetrics } from '../server-metrics.ts';
import type { Tracing } from '../tracing.ts';
import { ExportLosses, type ExportLossesOptions, BoundedSpanProcessor, metricExporter } from './exporters.ts';
import { operationData, prometheusData } from './metric-data.ts';
import { ExportFailed, OtlpSender, type Signal } from './otlp-sender.ts';
import { SpanTracing } from './span-tracing.ts';
import { defaultResource, resourceFromAttributes, type Resource } from '@opentelemetry/resources';

export interface TelemetryExportOptions extends Pick<ExportLossesOptions, 'now' | 'onDropped'> {
  readonly service: Service;
  readonly metrics: ExportedMetrics;
  readonly random: () => number;
  readonly env: (name: string) => string | undefined;
  readonly readSecret: (path: string) => string;
  readonly log: Logger;
}

const METRIC_INTERVAL_MS = 60_000;
const SCOPE = 'vmcp';
/** Longest value of an attribute, in characters. */
const LONGEST_VALUE = 1_024;

/** Export of the traces and metrics of one virtual server to a collector. Trouble there never affects a call. */
export class TelemetryExport {
  readonly tracing: Tracing | undefined;
  readonly #tracers: TracerProvider | undefined;
  readonly #meters: MeterProvider | undefined;
  readonly #outbound: Outbound;
  readonly #closed = new AbortController();

  /** Sends to `config.endpoint`, which must be set. */
  constructor(config: TelemetryConfig, options: TelemetryExportOptions) {
    const { endpoint = '', insecure, allowPrivateIP, caCertPath: caFile } = config;
    const { log } = options;
    const policy = policyFor(endpoint, { allowPrivateIPs: allowPrivateIP, insecureAllowHTTP: insecure });
    const outbound = createOutbound({ policy, configuredUrl: endpoint, caFile, log });
    const headers = (): Record<string, string> => headersOf(config, options.readSecret);
    const sender = (signal: Signal): OtlpSender =>
      new OtlpSender({ signal, endpoint, headers, outbound, signalClosed: this.#closed.signal });
    const losses = new ExportLosses(options);
    const resource = resourceOf(config, options.service);
    this.#outbound = outbound;
    if (config.tracingEnabled !== false) {
      this.#tracers = new TracerProvider({
        resource,
        sampler: new AlwaysOnSampler(), // `SpanTracing` has decided
        spanLimits: { attributeValueLengthLimit: LONGEST_VALUE },
        spanProcessors: [new BoundedSpanProcessor(sender('traces'), losses)],
      });
      this.tracing = tracingOf(config, options, this.#tracers);
    }
    if (config.metricsEnabled !== false) {
      const reader = new PeriodicExportingMetricReader({
        exporter: metricExporter(sender('metrics'), losses),
        exportIntervalMillis: METRIC_INTERVAL_MS,
        metricProducers: [producerOf(options)],
      });
      this.#meters = new MeterProvider({ resource, readers: [reader] });
    }
  }

  /** Sends what is left, for `timeoutMs` at the longest, and stops. Never rejects. */
  async close(timeoutMs: number): Promise<void> {
    const timer = setTimeout(() => {
      this.#closed.abort(new ExportFailed('the gateway stops'));
    }, timeoutMs);
    await Promise.allSettled([this.#tracers?.shutdown(), this.#meters?.shutdown()]);
    clearTimeout(timer);
    await this.#outbound.close();
  }
}

function tracingOf(config: TelemetryConfig, { random, env, service }: TelemetryExportOptions, tracers: TracerProvider) {
  const { samplingRate = DEFAULT_SAMPLING_RATE, environmentVariables = [], useLegacyAttributes } = config;
  const variables = environmentVariables.flatMap((name) => {
    const value = env(name);
    return value === undefined ? [] : [[`environment.${name}`, value] as const];
  });
  return new SpanTracing({
    tracer: tracers.getTracer(SCOPE, service.version),
    samplingRate: Number(samplingRate),
    random,
    attributes: Object.fromEntries(variables),
    withLegacyNames: useLegacyAttributes === true,
  });
}

/** Reads the metrics that `/metrics` serves, at the time of an export. */
function producerOf(options: TelemetryExportOptions): MetricProducer {
  const { metrics, now, service } = options;
  const { server, registry, histograms, startedAt } = metrics;
  const collect = async (): Promise<MetricData[]> => {
    const others = (await registry.getMetricsAsJSON()).filter(({ name }) => !OPERATION_METRICS.has(name));
    const interval = { startTime: hrTime(startedAt), endTime: hrTime(now()) };
    return [...operationData(histograms(), interval), ...prometheusData(others, server, interval)].filter(
      ({ dataPoints }) => dataPoints.length > 0,
    );
  };
  return {
    collect: async () => {
      const scopeMetrics = [{ scope: { name: SCOPE, version: service.version }, metrics: await collect() }];
      return { resourceMetrics: { resource: resourceOf({}, service), scopeMetrics }, errors: [] };
    },
  };
}

const hrTime = (ms: number): HrTime => [Math.floor(ms / 1_000), (ms % 1_000) * 1_000_000];

/** @throws FileUnreadable and `ExportFailed` */
function headersOf({ headers = {}, headerFiles = {} }: TelemetryConfig, readSecret: (path: string) => string) {
  const own = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  const secret = Object.entries(headerFiles).map(([name, path]) => {
    const value = readSecret(path);
    if (!isHeaderValue(value))
      throw new ExportFailed(`the value of header ${name} in ${path} is not valid in a header`);
    return [name.toLowerCase(), value] as const;
  });
  return Object.fromEntries([...own, ...secret]);
}

/** Facts about the process that the configuration does not hold. */
interface Service {
  readonly name: string;
  /** Namespace of the virtual server; undefined without namespaces. */
  readonly namespace: string | undefined;
  readonly version: string;
  /** Unique for this process: replicas must not overwrite each other's series. */
  readonly instanceId: string;
}

/** @see OpenTelemetry semantic-conventions, resource/service.md */
function resourceOf(config: TelemetryConfig, { name, namespace, version, instanceId }: Service): Resource {
  const { serviceName, serviceVersion, customAttributes = {} } = config;
  const attributes = {
    'service.name': name,
    'service.version': version,
    'service.instance.id': instanceId,
    ...(namespace !== undefined && { 'service.namespace': namespace }),
    ...customAttributes,
    ...(serviceName !== undefined && { 'service.name': serviceName }),
    ...(serviceVersion !== undefined && { 'service.version': serviceVersion }),
  };
  return defaultResource().merge(resourceFromAttributes(attributes));
}
