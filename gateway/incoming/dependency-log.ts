import type { Logger } from '../contract/logger.ts';

const QUIET_MS = 10_000;

/** Logs at most one line per interval while a dependency is down. */
export class DependencyLog {
  readonly #log: Pick<Logger, 'error' | 'warn' | 'debug'>;
  readonly #now: () => number;
  readonly #last = new Map<string, { at: number; unsaid: number }>();

  constructor(log: Pick<Logger, 'error' | 'warn' | 'debug'>, now: () => number) {
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
