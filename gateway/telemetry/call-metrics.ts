import type { Registry } from 'prom-client';

const BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const BUCKETS_MS = BUCKETS_SECONDS.map((seconds) => seconds * 1_000);

interface Series {
  readonly counts: number[];
  count: number;
  sumMs: number;
}

/**
 * Calls by backend and outcome. Plain numbers on the way, Prometheus text only when it is asked for: a labelled
 * prom-client histogram costs more per observation than the rest of the relay's bookkeeping.
 */
export class CallMetrics {
  readonly #series = new Map<string, Map<string, Series>>();

  observe(backend: string, outcome: string, durationMs: number): void {
    let outcomes = this.#series.get(backend);
    if (outcomes === undefined) this.#series.set(backend, (outcomes = new Map<string, Series>()));
    let series = outcomes.get(outcome);
    if (series === undefined) outcomes.set(outcome, (series = { counts: BUCKETS_MS.map(() => 0), count: 0, sumMs: 0 }));
    series.count += 1;
    series.sumMs += durationMs;
    let bucket = 0;
    while (bucket < BUCKETS_MS.length && durationMs > (BUCKETS_MS[bucket] ?? 0)) bucket += 1;
    if (bucket < BUCKETS_MS.length) series.counts[bucket] = (series.counts[bucket] ?? 0) + 1;
  }

  /** Makes the series part of what `registry` prints. */
  register(registry: Registry, server: string): void {
    const name = 'vmcp_backend_request_duration_seconds';
    registry.registerMetric({
      name,
      help: 'Time from a client request to the complete reply of its backend.',
      type: 'histogram',
      aggregator: 'sum',
      get: () =>
        Promise.resolve({
          name,
          help: 'Time from a client request to the complete reply of its backend.',
          type: 'histogram',
          aggregator: 'sum',
          values: this.#values(name, server),
        }),
      reset: () => {
        this.#series.clear();
      },
    } as unknown as Parameters<Registry['registerMetric']>[0]);
  }

  #values(name: string, server: string): object[] {
    const values: object[] = [];
    for (const [backend, outcomes] of this.#series) {
      for (const [outcome, series] of outcomes) {
        const labels = { server, backend, outcome };
        let below = 0;
        BUCKETS_SECONDS.forEach((le, index) => {
          below += series.counts[index] ?? 0;
          values.push({ labels: { le, ...labels }, value: below, metricName: `${name}_bucket` });
        });
        values.push({ labels: { le: '+Inf', ...labels }, value: series.count, metricName: `${name}_bucket` });
        values.push({ labels, value: series.sumMs / 1_000, metricName: `${name}_sum` });
        values.push({ labels, value: series.count, metricName: `${name}_count` });
      }
    }
    return values;
  }
}
