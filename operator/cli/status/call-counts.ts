/** Number of calls by backend: the keys are those of `callKey`. */
export type CallCounts = ReadonlyMap<string, number>;

/** Histogram of the gateway with a series for each virtual server, backend and outcome. */
const SERIES = /^vmcp_backend_request_duration_seconds_count\{([^}]*)\} (\d+)$/gmu;

/** Returns the key of a backend. `server` is the label of the metrics: `namespace/name`. */
export const callKey = (server: string, backend: string): string => JSON.stringify([server, backend]);

/** Sums the calls of all outcomes from Prometheus text. */
export function readCallCounts(metrics: string): CallCounts {
  const counts = new Map<string, number>();
  for (const [, labels = '', count] of metrics.matchAll(SERIES)) {
    const values = new Map([...labels.matchAll(/(?:^|,)(\w+)="([^"]*)"/gu)].map(([, name, value]) => [name, value]));
    const key = callKey(values.get('server') ?? '', values.get('backend') ?? '');
    counts.set(key, (counts.get(key) ?? 0) + Number(count));
  }
  return counts;
}
