import { Counter, type Registry } from 'prom-client';

export interface CountedThing {
  readonly name: string;
  readonly help: string;
  /** Label beside `server`. */
  readonly label: string;
}

/** Counts events per server. Uses plain numbers like `Durations`. */
export class CountsByServer {
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

  /** Counts for one server. A server that is started again counts on. */
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
