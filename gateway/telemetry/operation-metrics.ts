import { methodOf } from '../contract/protocol/methods.ts';
import type { Registry } from 'prom-client';
import type { CallObserver, Peer } from './call-observer.ts';
import { add, BACKEND_BOUNDS, bucketsOf, MCP_BOUNDS, noDurations, record, type Durations } from './operation-series.ts';
import { attributesOf, isReply, peerAttributes, type Attributes } from './mcp-attributes.ts';
import { OperationTree } from './operation-series.ts';

/** One histogram as data. */
export interface HistogramData {
  /** Name in OpenTelemetry: with dots and without its unit. */
  readonly name: string;
  readonly description: string;
  readonly bounds: readonly number[];
  readonly points: readonly HistogramPoint[];
}

export interface HistogramPoint {
  readonly attributes: Attributes;
  readonly durations: Durations;
}

interface BackendSeries {
  readonly peer: Peer;
  readonly calls: OperationTree;
  /** Sessions at the backend: the method is ''. */
  readonly sessions: OperationTree;
}

interface ServerSeries {
  readonly requests: OperationTree;
  readonly sessions: OperationTree;
  readonly backends: Map<string, BackendSeries>;
}

const BACKEND_DURATION = 'vmcp_backend_request_duration_seconds';

/** Metrics of OpenTelemetry's MCP conventions, and one of our own, by the series that they show. */
const METRICS: readonly (Omit<HistogramData, 'points'> & {
  readonly pointsOf: (series: ServerSeries) => readonly HistogramPoint[];
})[] = [
  {
    name: 'mcp.server.operation.duration',
    description: 'Time from a request of a client to its answer.',
    bounds: MCP_BOUNDS,
    pointsOf: ({ requests }) => points(requests, peerAttributes({ transport: 'tcp' })),
  },
  {
    name: 'mcp.client.operation.duration',
    description: 'Time from a request of a client to the complete reply of its backend.',
    bounds: MCP_BOUNDS,
    pointsOf: ({ backends }) =>
      [...backends].flatMap(([backend, { peer, calls }]) =>
        points(calls, { 'vmcp.backend': backend, ...peerAttributes(peer) }),
      ),
  },
  {
    name: 'mcp.server.session.duration',
    description: 'Length of a session of a client.',
    bounds: MCP_BOUNDS,
    pointsOf: ({ sessions }) => points(sessions, peerAttributes({ transport: 'tcp' })),
  },
  {
    name: 'mcp.client.session.duration',
    description: 'Length of a session at a backend.',
    bounds: MCP_BOUNDS,
    pointsOf: ({ backends }) =>
      [...backends].flatMap(([backend, { peer, sessions }]) =>
        points(sessions, { 'vmcp.backend': backend, ...peerAttributes(peer) }),
      ),
  },
  {
    name: BACKEND_DURATION,
    description: 'Time from a client request to the complete reply of its backend.',
    bounds: BACKEND_BOUNDS,
    pointsOf: ({ backends }) =>
      [...backends].flatMap(([backend, { calls }]) =>
        [...byOutcome(calls)].map(([outcome, durations]) => ({ attributes: { backend, outcome }, durations })),
      ),
  },
];

/** Histograms of requests, calls and sessions by server. One observation feeds `/metrics` and OTLP. */
export class OperationMetrics {
  readonly #servers = new Map<string, ServerSeries>();

  constructor(registry: Registry) {
    for (const { name, description, bounds, pointsOf } of METRICS) {
      const exposed = prometheusName(name);
      const metric = { name: exposed, help: description, type: 'histogram', aggregator: 'sum' } as const;
      const values = (): object[] =>
        [...this.#servers].flatMap(([server, series]) =>
          pointsOf(series).flatMap((point) => exposition(exposed, { server }, point, bounds)),
        );
      registry.registerMetric({
        ...metric,
        get: () => Promise.resolve({ ...metric, values: values() }),
        reset: () => {
          this.#servers.clear();
        },
      } as unknown as Parameters<Registry['registerMetric']>[0]);
    }
  }

  of(server: string): CallObserver {
    const series: ServerSeries = { requests: new OperationTree(), sessions: new OperationTree(), backends: new Map() };
    this.#servers.set(server, series);
    return {
      ended: (call) => {
        const { isSent, peer, method, originalName, errorType = '', backendRevision = '' } = call;
        if (!isSent || !peer) return;
        const target = (methodOf(method).target ? originalName : undefined) ?? '';
        const { calls } = backendSeries(series, call.backend, peer);
        record(calls.of(method, target, errorType, backendRevision), call.durationMs);
      },
      answered: ({ method, target = '', errorType = '', revision = '', durationMs }) => {
        record(series.requests.of(method, target, errorType, revision), durationMs);
      },
      sessionEnded: ({ revision, durationMs }) => {
        record(series.sessions.of('', '', '', revision), durationMs);
      },
      backendSessionEnded: ({ backend, peer, revision, errorType = '', durationMs }) => {
        record(backendSeries(series, backend, peer).sessions.of('', '', errorType, revision), durationMs);
      },
    };
  }

  /** Returns the current histograms of one server. */
  dataOf(server: string): HistogramData[] {
    const series = this.#servers.get(server);
    return series ? METRICS.map(({ pointsOf, ...metric }) => ({ ...metric, points: pointsOf(series) })) : [];
  }

  forget(server: string): void {
    this.#servers.delete(server);
  }
}

/** Names of these metrics at `/metrics`. */
export const OPERATION_METRICS: ReadonlySet<string> = new Set(METRICS.map(({ name }) => prometheusName(name)));

/** @see OpenTelemetry specification, compatibility/prometheus_and_openmetrics.md */
function prometheusName(name: string): string {
  return name.includes('.') ? `${name.replaceAll('.', '_')}_seconds` : name;
}

function backendSeries({ backends }: ServerSeries, backend: string, peer: Peer): BackendSeries {
  let found = backends.get(backend);
  if (found?.peer !== peer) {
    const { calls = new OperationTree(), sessions = new OperationTree() } = found ?? {};
    backends.set(backend, (found = { peer, calls, sessions }));
  }
  return found;
}

/** Returns the series of a tree with their attributes and those that all of them have. */
const points = ({ all }: OperationTree, shared: Attributes): HistogramPoint[] =>
  all.map((operation) => ({ attributes: { ...attributesOf(operation), ...shared }, durations: operation.durations }));

/** Sums the calls by the kind of their failure; `ok` when the backend replied. */
function byOutcome({ all }: OperationTree): Map<string, Durations> {
  const outcomes = new Map<string, Durations>();
  for (const { errorType, durations } of all) {
    const outcome = isReply(errorType) ? 'ok' : errorType;
    const sum = outcomes.get(outcome) ?? noDurations();
    add(sum, durations);
    outcomes.set(outcome, sum);
  }
  return outcomes;
}

/** Returns the samples of one histogram at `/metrics`. Names of attributes have underscores in place of dots. */
function exposition(
  name: string,
  own: Attributes,
  { attributes, durations }: HistogramPoint,
  bounds: readonly number[],
) {
  const named = Object.entries(attributes).map(([key, value]) => [key.replaceAll('.', '_'), value] as const);
  const labels = { ...own, ...Object.fromEntries(named) };
  let below = 0;
  const buckets = bucketsOf(durations, bounds).map((count, index) => {
    below += count;
    return { labels: { le: bounds[index] ?? '+Inf', ...labels }, value: below, metricName: `${name}_bucket` };
  });
  return [
    ...buckets,
    { labels, value: durations.sumMs / 1_000, metricName: `${name}_sum` },
    { labels, value: durations.count, metricName: `${name}_count` },
  ];
}
