import { percentile } from '../statistics.ts';

/** A request body around its fresh id: `before + id + after`. */
export interface Body {
  readonly before: string;
  readonly after: string;
  /** Headers of this request alone, by lower-case name. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Requests of a load generator: it uses sessions and bodies in turn, independently of each other. */
export interface Plan {
  readonly port: number;
  /** At least one session for each connection; empty for a server without sessions. */
  readonly sessions: readonly string[];
  /** Bearer tokens of the users, assigned to the sessions in turn; absent for anonymous sessions. */
  readonly tokens?: readonly string[];
  readonly bodies: readonly Body[];
  /** Text that every reply must contain; without it only status and size are checked. */
  readonly mustContain?: string;
  /** Least mean size of the replies in a slice: cheaper to check than bodies of many kilobytes. */
  readonly minBytes?: number;
}

export interface Load {
  readonly requests: number;
  readonly seconds: number;
  /** Received bytes, including headers. */
  readonly bytes: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Number of failed requests by kind of failure. */
  readonly failures: Readonly<Record<string, number>>;
}

export interface Engine {
  readonly name: string;
  readonly run: (plan: Plan, connections: number, seconds: number) => Promise<Load>;
}

/** Removes the kinds of failure that did not happen. */
export function happened(failures: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(Object.entries(failures).filter(([, count]) => count > 0));
}

/** Prints the measurements as a JSON line and ends the process without waiting for idle connections. */
export function reportAndExit(
  startedAt: number,
  latenciesMs: readonly number[],
  failures: Readonly<Record<string, number>>,
): never {
  const measured = latenciesMs.length === 0 ? [0] : latenciesMs;
  const load: Load = {
    requests: latenciesMs.length,
    seconds: (performance.now() - startedAt) / 1_000,
    bytes: 0,
    p50Ms: percentile(measured, 50),
    p99Ms: percentile(measured, 99),
    failures,
  };
  process.stdout.write(`${JSON.stringify(load)}\n`);
  process.exit(0);
}
