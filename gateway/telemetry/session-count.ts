import { Gauge, type Registry } from 'prom-client';

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
