import type { Registry } from 'prom-client';
import { UpstreamLatency } from './auth-server-metrics.ts';
import { CallMetrics } from './call-metrics.ts';
import { CountsByServer } from './counts-by-server.ts';
import { WebhookLatency } from './webhook-metrics.ts';

/** Metrics with the label `server`: one member for each, by the name under which a public server takes it. */
export class ServerMetrics {
  readonly #families;

  constructor(registry: Registry) {
    this.#families = {
      metrics: new CallMetrics(registry),
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
      observeUpstream: new UpstreamLatency(registry),
      observeWebhook: new WebhookLatency(registry),
    };
  }

  /** Returns the functions that record events of one server. */
  of(server: string) {
    const { metrics, onAuthentication, onAuthServerEvent, onOverBudget, observeUpstream, observeWebhook } =
      this.#families;
    return {
      metrics: metrics.of(server),
      onAuthentication: onAuthentication.of(server),
      onAuthServerEvent: onAuthServerEvent.of(server),
      onOverBudget: onOverBudget.of(server),
      observeUpstream: observeUpstream.of(server),
      observeWebhook: observeWebhook.of(server),
    };
  }

  /** Removes the series of a server that no longer exists. */
  forget(server: string): void {
    for (const family of Object.values(this.#families)) family.forget(server);
  }
}
