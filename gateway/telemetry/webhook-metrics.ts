import { Histogram, type Registry } from 'prom-client';
import type { ServiceUse } from '../policy/policy.ts';

interface Labels {
  readonly server: string;
  readonly webhook: string;
  readonly type: string;
  readonly outcome: string;
}

/** Number and latency of webhook requests by server. */
export class WebhookLatency {
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
