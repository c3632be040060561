import type { Registry } from 'prom-client';
import { UpstreamLatency } from './auth-server-metrics.ts';
import { CountsByServer } from './counts-by-server.ts';
import { OperationMetrics, type HistogramData } from './operation-metrics.ts';
import { RateLimitMetrics } from './rate-limit-metrics.ts';
import { WebhookLatency } from './webhook-metrics.ts';

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
