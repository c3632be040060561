import type { Logger } from '../contract/logger.ts';
import { CredentialError, type CredentialFault } from './authenticator.ts';

const LOG_EVERY_MS = 5_000;
/** Time after the last failure for which an outage is shown: nobody may have asked again since it ended. */
const SHOWN_MS = 300_000;
/** Wait for a credential after which its source counts as slow. */
const SLOW_MS = 5_000;

/** Problem of the credentials for one backend, safe for `/status`. */
export interface CredentialProblem {
  readonly reason: 'CredentialMisconfigured' | 'CredentialUnavailable';
  readonly message: string;
}

/** Faults that the operator can correct. The others concern one user. */
const REASONS: Readonly<Partial<Record<CredentialFault, CredentialProblem['reason']>>> = {
  misconfigured: 'CredentialMisconfigured',
  unavailable: 'CredentialUnavailable',
};

interface Options {
  readonly backend: string;
  readonly log: Pick<Logger, 'warn' | 'debug'>;
  /** ms since the epoch. */
  readonly now: () => number;
}

/**
 * Failures to obtain a credential for one backend: the one place that logs them, once in 5 s, and keeps the problem for `/status`. A
 * failure can be that of a list in the background, which no client sees.
 */
export class CredentialFailures {
  readonly #options: Options;
  #problem: CredentialProblem | undefined;
  #failedAt = 0;
  #loggedAt = -Infinity;
  #unlogged = 0;

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
    if (reason) this.#record({ reason, message: error.message }, error.fault);
    else this.#options.log.debug('no credential for a backend', this.#facts(error.fault, error.message));
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
    const now = this.#options.now();
    this.#problem = problem;
    this.#failedAt = now;
    this.#unlogged += 1;
    if (now - this.#loggedAt < LOG_EVERY_MS) return;
    this.#loggedAt = now;
    this.#options.log.warn('no credential for a backend', {
      ...this.#facts(fault, problem.message),
      failures: this.#unlogged,
    });
    this.#unlogged = 0;
  }

  #facts(reason: CredentialFault, detail: string): Readonly<Record<string, unknown>> {
    return { backend: this.#options.backend, reason, detail };
  }

  #age(): number {
    return this.#options.now() - this.#failedAt;
  }
}
