import type { Registry } from 'prom-client';
import type { CallObserver } from './call-observer.ts';

const BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const BUCKETS_MS = BUCKETS_SECONDS.map((seconds) => seconds * 1_000);

interface Series {
  readonly counts: number[];
  count: number;
  sumMs: number;
}

/**
 * Histograms of calls by server, backend and outcome. Calls update plain numbers, which become Prometheus text when
 * `/metrics` is requested: an observation in a labelled prom-client histogram is slower than all other bookkeeping of a call.
 */
export class CallMetrics {
  readonly #servers = new Map<string, Map<string, Map<string, Series>>>();

  constructor(registry: Registry) {
    registry.registerMetric({
      name: NAME,
      help: HELP,
      type: 'histogram',
      aggregator: 'sum',
      get: () =>
        Promise.resolve({ name: NAME, help: HELP, type: 'histogram', aggregator: 'sum', values: this.#values() }),
      reset: () => {
        this.#servers.clear();
      },
    } as unknown as Parameters<Registry['registerMetric']>[0]);
  }

  of(server: string): CallObserver {
    const backends = new Map<string, Map<string, Series>>();
    this.#servers.set(server, backends);
    return {
      ended: ({ backend, failure: outcome = 'ok', isSent, durationMs }) => {
        if (!isSent) return;
        let outcomes = backends.get(backend);
        if (outcomes === undefined) backends.set(backend, (outcomes = new Map<string, Series>()));
        let series = outcomes.get(outcome);
        if (series === undefined)
          outcomes.set(outcome, (series = { counts: BUCKETS_MS.map(() => 0), count: 0, sumMs: 0 }));
        record(series, durationMs);
      },
    };
  }

  forget(server: string): void {
    this.#servers.delete(server);
  }

  #values(): object[] {
    const values: object[] = [];
    for (const [server, backends] of this.#servers) {
      for (const [backend, outcomes] of backends) {
        for (const [outcome, series] of outcomes) values.push(...seriesValues({ server, backend, outcome }, series));
      }
    }
    return values;
  }
}

const NAME = 'vmcp_backend_request_duration_seconds';
const HELP = 'Time from a client request to the complete reply of its backend.';

function record(series: Series, durationMs: number): void {
  series.count += 1;
  series.sumMs += durationMs;
  let bucket = 0;
  while (bucket < BUCKETS_MS.length && durationMs > (BUCKETS_MS[bucket] ?? 0)) bucket += 1;
  if (bucket < BUCKETS_MS.length) series.counts[bucket] = (series.counts[bucket] ?? 0) + 1;
}

function seriesValues(labels: Readonly<Record<string, string>>, series: Series): object[] {
  let below = 0;
  const buckets = BUCKETS_SECONDS.map((le, index) => {
    below += series.counts[index] ?? 0;
    return { labels: { le, ...labels }, value: below, metricName: `${NAME}_bucket` };
  });
  return [
    ...buckets,
    { labels: { le: '+Inf', ...labels }, value: series.count, metricName: `${NAME}_bucket` },
    { labels, value: series.sumMs / 1_000, metricName: `${NAME}_sum` },
    { labels, value: series.count, metricName: `${NAME}_count` },
  ];
}
