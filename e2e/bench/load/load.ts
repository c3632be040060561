import { percentile } from '../statistics.ts';

/** A request body around its fresh id: `before + id + after`. */
export interface Body {
  readonly before: string;
  readonly after: string;
}

/** What the load generator sends: sessions and bodies are taken in turn, independently of each other. */
export interface Plan {
  readonly port: number;
  /** One per connection or more; empty for a server without sessions. */
  readonly sessions: readonly string[];
  /** Bearer tokens of the sessions, taken in turn: of as many users as there are tokens; absent: nobody logs in. */
  readonly tokens?: readonly string[];
  readonly bodies: readonly Body[];
  /** Text that every reply must contain; undefined: only status and size are judged. */
  readonly mustContain?: string;
  /** Least size of a reply, judged by the mean of a slice: cheaper than looking into bodies of many kilobytes. */
  readonly minBytes?: number;
}

export interface Load {
  readonly requests: number;
  readonly seconds: number;
  /** Of everything received, headers included. */
  readonly bytes: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Requests that were not answered as they should be, by what went wrong; empty when none. */
  readonly failures: Readonly<Record<string, number>>;
}

export interface Engine {
  readonly name: string;
  readonly run: (plan: Plan, connections: number, seconds: number) => Promise<Load>;
}

/** Drops the kinds of failure that did not happen. */
export function happened(failures: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(Object.entries(failures).filter(([, count]) => count > 0));
}

/** Prints what was measured as a JSON line and ends the process, which idle connections would keep for a while. */
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
