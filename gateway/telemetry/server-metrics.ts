import { type Registry, Counter, Histogram, Gauge } from 'prom-client';
import { UpstreamLatency } from './auth-server-metrics.ts';
import { OperationMetrics, type HistogramData } from './operation-metrics.ts';
import type { ServiceUse } from '../policy/policy.ts';
import type { BucketScope, RateLimitObserver } from '../policy/rate-limit/buckets.ts';

interface Counts {
  /** Decisions by scope. */
  readonly allowed: Map<BucketScope, number>;
  readonly refused: Map<BucketScope, number>;
  failedOpen: number;
  storeErrors: number;
}

/** Decisions of rate limits by server, and how their store does. Uses plain numbers like `CallMetrics`. */
class RateLimitMetrics {
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

interface Labels {
  readonly server: string;
  readonly webhook: string;
  readonly type: string;
  readonly outcome: string;
}

/** Number and latency of webhook requests by server. */
class WebhookLatency {
  readonly #histogram: Histogram<keyof Labels>;
  /** Those that a server has, so that they go with it. */
  readonly #servers = new Map<string, Map<string, Labels>>();

  constructor(registry: Registry) {
    this.#histogram = new Histogram({
      name: 'vmcp_webhook_request_duration_seconds',
      help: 'Time from a request to a webhook to the end of its answer, by the outcome.',
      labelNames: ['server', 'webhook', 'type', 'outcome'],
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
      registers: [registry],
    });
  }

  of(server: string): (use: ServiceUse) => void {
    const known = this.#servers.get(server) ?? new Map<string, Labels>();
    this.#servers.set(server, known);
    return ({ name, role, outcome, seconds }) => {
      const labels = { server, webhook: name, type: role, outcome };
      known.set(`${name} ${role} ${outcome}`, labels);
      this.#histogram.observe(labels, seconds);
    };
  }

  forget(server: string): void {
    for (const labels of this.#servers.get(server)?.values() ?? []) this.#histogram.remove(labels);
    this.#servers.delete(server);
  }
}

interface CountedThing {
  readonly name: string;
  readonly help: string;
  /** Label beside `server`. */
  readonly label: string;
}

/** Counts events per server. Uses plain numbers like `Durations`. */
class CountsByServer {
  readonly #servers = new Map<string, Map<string, number>>();

  constructor(registry: Registry, { name, help, label }: CountedThing) {
    const counter = new Counter({
      name,
      help,
      labelNames: ['server', label],
      registers: [registry],
      collect: () => {
        counter.reset();
        for (const [server, counts] of this.#servers) {
          for (const [value, count] of counts) counter.inc({ server, [label]: value }, count);
        }
      },
    });
  }

  /** Counts for one server. A server that is started again continues its counts. */
  of(server: string): (value: string, count?: number) => void {
    const counts = this.#servers.get(server) ?? new Map<string, number>();
    this.#servers.set(server, counts);
    return (value, count = 1) => {
      counts.set(value, (counts.get(value) ?? 0) + count);
    };
  }

  forget(server: string): void {
    this.#servers.delete(server);
  }
}

/** Metrics of one server as an export reads them. */
export interface ExportedMetrics {
  /** Value of the label `server`. */
  readonly server: string;
  readonly registry: Registry;
  /** Start of the metrics, ms since the epoch. */
  readonly startedAt: number;
  readonly histograms: () => readonly HistogramData[];
}

/** Metrics with the label `server`: one member for each, by the name under which a public server takes it. */
export class ServerMetrics {
  readonly #families;
  readonly #registry: Registry;
  readonly #startedAt: number;

  /** @param startedAt ms since the epoch */
  constructor(registry: Registry, startedAt: number) {
    this.#registry = registry;
    this.#startedAt = startedAt;
    this.#families = {
      metrics: new OperationMetrics(registry),
      onAuthentication: new CountsByServer(registry, {
        name: 'vmcp_authentications_total',
        help: 'Requests that boundary 1 has judged.',
        label: 'outcome',
      }),
      onAuthServerEvent: new CountsByServer(registry, {
        name: 'vmcp_auth_server_events_total',
        help: 'What happened at the embedded authorization server.',
        label: 'event',
      }),
      onOverBudget: new CountsByServer(registry, {
        name: 'vmcp_budget_refusals_total',
        help: 'Requests, replies, streams and connections that did not fit into a budget.',
        label: 'budget',
      }),
      onTelemetryDropped: new CountsByServer(registry, {
        name: 'vmcp_telemetry_dropped_total',
        help: 'Spans, and exports of metrics, that did not reach the collector.',
        label: 'signal',
      }),
      onAuditDropped: new CountsByServer(registry, {
        name: 'vmcp_audit_events_dropped_total',
        help: 'Audit events that were not written.',
        label: 'reason',
      }),
      observeUpstream: new UpstreamLatency(registry),
      rateLimits: new RateLimitMetrics(registry),
      observeWebhook: new WebhookLatency(registry),
    };
  }

  /** Returns the functions that record events of one server. */
  of(server: string) {
    const families = this.#families;
    return {
      metrics: families.metrics.of(server),
      onAuthentication: families.onAuthentication.of(server),
      onAuthServerEvent: families.onAuthServerEvent.of(server),
      onOverBudget: families.onOverBudget.of(server),
      onTelemetryDropped: families.onTelemetryDropped.of(server),
      onAuditDropped: families.onAuditDropped.of(server),
      observeUpstream: families.observeUpstream.of(server),
      rateLimits: families.rateLimits.of(server),
      observeWebhook: families.observeWebhook.of(server),
    };
  }

  /** Returns the function that counts dropped audit events of one server. */
  auditDropped(server: string) {
    return this.#families.onAuditDropped.of(server);
  }

  /** Returns what an export reads of one server. */
  exportOf(server: string): ExportedMetrics {
    const { metrics } = this.#families;
    return { server, registry: this.#registry, startedAt: this.#startedAt, histograms: () => metrics.dataOf(server) };
  }

  /** Removes the series of a server that no longer exists. */
  forget(server: string): void {
    for (const family of Object.values(this.#families)) family.forget(server);
  }
}

interface CountedServer {
  readonly name: string;
  readonly sessions: { readonly size: number };
}

/** Adds a metric with the live sessions of each server. */
export function countSessions(registry: Registry, servers: () => readonly CountedServer[]): void {
  const gauge = new Gauge({
    name: 'vmcp_sessions',
    help: 'Live client sessions.',
    labelNames: ['server'],
    registers: [registry],
    collect: () => {
      gauge.reset();
      for (const server of servers()) gauge.set({ server: server.name }, server.sessions.size);
    },
  });
}
