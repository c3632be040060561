/**
 * Bounds of the MCP metrics, seconds. @see OpenTelemetry semantic-conventions-genai, gen-ai/mcp.md, at commit
 * 0393513c908bf895e7b3ec480a2c1eb073c584af
 */
export const MCP_BOUNDS: readonly number[] = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];

/** Bounds of `vmcp_backend_request_duration_seconds`, seconds. */
export const BACKEND_BOUNDS: readonly number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
];

const ALL_BOUNDS = [...new Set([...MCP_BOUNDS, ...BACKEND_BOUNDS])].toSorted((a, b) => a - b);
const ALL_BOUNDS_MS = ALL_BOUNDS.map((seconds) => seconds * 1_000);

/**
 * Counts of durations by the bounds of every metric, so that one observation feeds them all. Plain numbers: an
 * observation in a labelled prom-client histogram is slower than all other bookkeeping of a call.
 */
export interface Durations {
  /** By the bounds of all metrics; the last is for longer durations. */
  readonly counts: number[];
  count: number;
  sumMs: number;
}

export const noDurations = (): Durations => ({ counts: [...ALL_BOUNDS, Infinity].map(() => 0), count: 0, sumMs: 0 });

export function record(durations: Durations, ms: number): void {
  durations.count += 1;
  durations.sumMs += ms;
  let bucket = 0;
  while (bucket < ALL_BOUNDS_MS.length && ms > (ALL_BOUNDS_MS[bucket] as number)) bucket += 1;
  (durations.counts[bucket] as number) += 1;
}

/** Adds the observations of `other`. */
export function add(durations: Durations, other: Durations): void {
  durations.count += other.count;
  durations.sumMs += other.sumMs;
  other.counts.forEach((count, bucket) => {
    (durations.counts[bucket] as number) += count;
  });
}

/** Returns the number of observations in each bucket of `bounds`, and last the number above all of them. */
export function bucketsOf({ counts }: Durations, bounds: readonly number[]): number[] {
  const buckets = [...bounds, Infinity].map(() => 0);
  let bucket = 0;
  counts.forEach((count, index) => {
    while (bucket < bounds.length && (ALL_BOUNDS[index] ?? Infinity) > (bounds[bucket] as number)) bucket += 1;
    (buckets[bucket] as number) += count;
  });
  return buckets;
}
