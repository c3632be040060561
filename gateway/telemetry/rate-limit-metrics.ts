import { Counter, Histogram, type Registry } from 'prom-client';
import type { BucketScope, RateLimitObserver } from '../policy/rate-limit/buckets.ts';

interface Counts {
  /** Decisions by scope. */
  readonly allowed: Map<BucketScope, number>;
  readonly refused: Map<BucketScope, number>;
  failedOpen: number;
  storeErrors: number;
}

/** Decisions of rate limits by server, and how their store does. Uses plain numbers like `CallMetrics`. */
export class RateLimitMetrics {
  readonly #servers = new Map<string, Counts>();
  readonly #latency: Histogram<'server'>;

  constructor(registry: Registry) {
    this.#count(registry, 'decisions', 'Calls that a bucket allowed or refused.', ['scope', 'allowed'], (counts) =>
      [true, false].flatMap((allowed) =>
        [...(allowed ? counts.allowed : counts.refused)].map(([scope, value]) => ({
          labels: { scope, allowed: String(allowed) },
          value,
        })),
      ),
    );
    this.#count(registry, 'kvstore_errors', 'Requests that the store of rate limits did not answer.', [], (counts) => [
      { labels: {}, value: counts.storeErrors },
    ]);
    this.#count(registry, 'fail_open', 'Calls that passed while the store was unavailable.', [], (counts) => [
      { labels: {}, value: counts.failedOpen },
    ]);
    this.#latency = new Histogram({
      name: 'vmcp_rate_limit_check_latency_seconds',
      help: 'Time that the store of rate limits took to answer.',
      labelNames: ['server'],
      buckets: [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5],
      registers: [registry],
    });
  }

  of(server: string): RateLimitObserver {
    const counts = this.#servers.get(server) ?? newCounts();
    this.#servers.set(server, counts);
    const labels = { server };
    return {
      decided: (scope, isAllowed) => {
        const decisions = isAllowed ? counts.allowed : counts.refused;
        decisions.set(scope, (decisions.get(scope) ?? 0) + 1);
      },
      failedOpen: () => (counts.failedOpen += 1),
      storeFailed: () => (counts.storeErrors += 1),
      storeAnswered: (durationMs) => {
        this.#latency.observe(labels, durationMs / 1_000);
      },
    };
  }

  forget(server: string): void {
    this.#servers.delete(server);
    this.#latency.remove({ server });
  }

  /** Registers a counter of servers with rate limits, which `read` fills at a scrape. */
  #count(
    registry: Registry,
    name: string,
    help: string,
    labelNames: string[],
    read: (counts: Counts) => { labels: Readonly<Record<string, string>>; value: number }[],
  ): void {
    const counter = new Counter({
      name: `vmcp_rate_limit_${name}_total`,
      help,
      labelNames: ['server', ...labelNames],
      registers: [registry],
      collect: () => {
        counter.reset();
        for (const [server, counts] of this.#servers)
          for (const { labels, value } of read(counts)) if (value > 0) counter.inc({ server, ...labels }, value);
      },
    });
  }
}

const newCounts = (): Counts => ({ allowed: new Map(), refused: new Map(), failedOpen: 0, storeErrors: 0 });
