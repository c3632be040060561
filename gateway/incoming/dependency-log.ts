/** The part of the log that the boundary uses. */
export interface BoundaryLog {
  error(message: string, facts?: Readonly<Record<string, unknown>>): void;
  warn(message: string, facts?: Readonly<Record<string, unknown>>): void;
  debug(message: string, facts?: Readonly<Record<string, unknown>>): void;
}

const QUIET_MS = 10_000;

/** Says that a dependency is down at most once in a while, however many requests meet it. */
export class DependencyLog {
  readonly #log: BoundaryLog;
  readonly #now: () => number;
  readonly #last = new Map<string, { at: number; unsaid: number }>();

  constructor(log: BoundaryLog, now: () => number) {
    this.#log = log;
    this.#now = now;
  }

  down(dependency: string, message: string): void {
    const at = this.#now();
    const last = this.#last.get(dependency);
    if (last && at - last.at < QUIET_MS) {
      last.unsaid += 1;
      return;
    }
    const requests = (last?.unsaid ?? 0) + 1;
    this.#log.warn('tokens cannot be judged: requests get 503', { dependency, error: message, requests });
    this.#last.set(dependency, { at, unsaid: 0 });
  }
}
