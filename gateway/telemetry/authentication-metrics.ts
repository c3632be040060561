import { Counter, type Registry } from 'prom-client';

/** How requests fared at boundary 1, by server and outcome. Plain numbers on the way, as `CallMetrics`. */
export class AuthenticationMetrics {
  readonly #servers = new Map<string, Map<string, number>>();

  constructor(registry: Registry) {
    const counter = new Counter({
      name: 'vmcp_authentications_total',
      help: 'Requests that boundary 1 has judged.',
      labelNames: ['server', 'outcome'],
      registers: [registry],
      collect: () => {
        counter.reset();
        for (const [server, outcomes] of this.#servers) {
          for (const [outcome, count] of outcomes) counter.inc({ server, outcome }, count);
        }
      },
    });
  }

  of(server: string): (outcome: string) => void {
    const outcomes = new Map<string, number>();
    this.#servers.set(server, outcomes);
    return (outcome) => {
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    };
  }

  forget(server: string): void {
    this.#servers.delete(server);
  }
}
