import { Gauge, Histogram, type Registry } from 'prom-client';

interface UpstreamUse {
  readonly provider: string;
  readonly operation: string;
  readonly outcome: string;
  readonly seconds: number;
}

type Labels = Omit<UpstreamUse, 'seconds'> & { readonly server: string };

/** Latency of upstream providers by server. */
export class UpstreamLatency {
  readonly #histogram: Histogram<keyof Labels>;
  /** Those that a server has, so that they go with it. */
  readonly #servers = new Map<string, Map<string, Labels>>();

  constructor(registry: Registry) {
    this.#histogram = new Histogram({
      name: 'vmcp_auth_server_upstream_seconds',
      help: 'Time that an upstream provider took for a login (code to identity), a refresh or a revocation.',
      labelNames: ['server', 'provider', 'operation', 'outcome'],
      buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
      registers: [registry],
    });
  }

  of(server: string): (use: UpstreamUse) => void {
    const known = this.#servers.get(server) ?? new Map<string, Labels>();
    this.#servers.set(server, known);
    return ({ provider, operation, outcome, seconds }) => {
      const labels = { server, provider, operation, outcome };
      known.set(`${provider} ${operation} ${outcome}`, labels);
      this.#histogram.observe(labels, seconds);
    };
  }

  forget(server: string): void {
    for (const labels of this.#servers.get(server)?.values() ?? []) this.#histogram.remove(labels);
    this.#servers.delete(server);
  }
}

interface ClientHolder {
  /** Undefined when the number is unknown. */
  registeredClients(): Promise<number | undefined>;
}

/** Number of registered clients, read at each scrape. */
export function countRegisteredClients(registry: Registry, servers: () => ReadonlyMap<string, ClientHolder>): void {
  const gauge = new Gauge({
    name: 'vmcp_auth_server_registered_clients',
    help: 'Clients that have registered at the embedded authorization server and live.',
    labelNames: ['server'],
    registers: [registry],
    async collect() {
      const counts = await Promise.all(
        [...servers()].map(async ([server, holder]) => [server, await holder.registeredClients()] as const),
      );
      gauge.reset();
      for (const [server, count] of counts) if (count !== undefined) gauge.set({ server }, count);
    },
  });
}
