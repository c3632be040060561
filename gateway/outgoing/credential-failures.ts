import type { Logger } from '../contract/logger.ts';
import { CredentialError, type CredentialFault } from './authenticator.ts';

const LOG_EVERY_MS = 5_000;
/** Time after the last failure for which an outage is shown: nobody may have asked again since it ended. */
const SHOWN_MS = 300_000;
/** Wait for a credential after which its source counts as slow. */
const SLOW_MS = 5_000;

/** Problem of the credentials for a backend, safe for `/status`. */
export interface CredentialProblem {
  readonly reason: 'CredentialMisconfigured' | 'CredentialUnavailable';
  readonly message: string;
}

const MESSAGE = 'no credential for a backend';

/** Number of failures that the next log line reports. */
class Line {
  #at = -Infinity;
  #unlogged = 0;

  /** Returns the number of failures to log now; 0 within 5 s of the last line. */
  count(now: number): number {
    this.#unlogged += 1;
    if (now - this.#at < LOG_EVERY_MS) return 0;
    const failures = this.#unlogged;
    this.#at = now;
    this.#unlogged = 0;
    return failures;
  }
}

/** Faults that the operator can correct. The others concern a single user. */
const REASONS: Readonly<Partial<Record<CredentialFault, CredentialProblem['reason']>>> = {
  misconfigured: 'CredentialMisconfigured',
  unavailable: 'CredentialUnavailable',
};

interface Options {
  readonly backend: string;
  readonly log: Pick<Logger, 'warn' | 'info' | 'debug'>;
  /** ms since the epoch. */
  readonly now: () => number;
}

/**
 * Failures to obtain a credential for one backend: the one place that logs them, once in 5 s, and keeps the problem for `/status`. A
 * failure can be that of a list in the background, which no client sees. A refusal that concerns one user is at level info.
 */
export class CredentialFailures {
  readonly #options: Options;
  #problem: CredentialProblem | undefined;
  #failedAt = 0;
  readonly #lines = { warn: new Line(), info: new Line() };

  constructor(options: Options) {
    this.#options = options;
  }

  /** The problem until a credential is obtained from its source. */
  get problem(): CredentialProblem | undefined {
    const isOver = this.#problem?.reason === 'CredentialUnavailable' && this.#age() > SHOWN_MS;
    return isOver ? undefined : this.#problem;
  }

  /** Records the failure of one request for a credential. */
  failed(error: unknown): void {
    if (!(error instanceof CredentialError)) return;
    const reason = REASONS[error.fault];
    if (reason) this.#record({ reason, message: error.detail }, error.fault);
    else if (error.detail === error.message) this.#options.log.debug(MESSAGE, this.#facts(error.fault, error.message));
    else this.#log('info', error.fault, error.detail);
  }

  /** Records that a credential was obtained from its source. */
  succeeded(): void {
    this.#problem = undefined;
  }

  /** Watches a request to the source of the credential. */
  watch<T>(credential: Promise<T>): Promise<T> {
    const slow = setTimeout(() => {
      const message = `its source has not answered for ${String(SLOW_MS / 1_000)} s`;
      this.#record({ reason: 'CredentialUnavailable', message }, 'unavailable');
    }, SLOW_MS).unref();
    return credential.then(
      (obtained) => {
        clearTimeout(slow);
        this.succeeded();
        return obtained;
      },
      (error: unknown) => {
        clearTimeout(slow);
        this.failed(error);
        throw error;
      },
    );
  }

  #record(problem: CredentialProblem, fault: CredentialFault): void {
    this.#problem = problem;
    this.#failedAt = this.#options.now();
    this.#log('warn', fault, problem.message);
  }

  #log(level: 'warn' | 'info', fault: CredentialFault, detail: string): void {
    const failures = this.#lines[level].count(this.#options.now());
    if (failures > 0) this.#options.log[level](MESSAGE, { ...this.#facts(fault, detail), failures });
  }

  #facts(reason: CredentialFault, detail: string): Readonly<Record<string, unknown>> {
    return { backend: this.#options.backend, reason, detail };
  }

  #age(): number {
    return this.#options.now() - this.#failedAt;
  }
}
