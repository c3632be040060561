import type { StrategyDeps } from '../authenticator.ts';
import type { TokenExchangeConfig } from './config.ts';
import { claimsOf } from './subject-age.ts';

const QUIET_MS = 60_000;
const MAX_SHOWN = 5;

/** Warns when exchanged tokens have another audience than the configuration asks for: the backend will reject them. */
export class ExchangedAudiences {
  readonly #asked: readonly string[];
  readonly #deps: Pick<StrategyDeps, 'log' | 'now' | 'backend'>;
  #warnedAt = -Infinity;

  constructor({ audience = '', resource = '' }: TokenExchangeConfig, deps: StrategyDeps) {
    this.#asked = [audience, resource].filter((each) => each !== '');
    this.#deps = deps;
  }

  /** Compares the `aud` of a JWT; opaque tokens show none. */
  compare(token: string): void {
    const { log, now, backend } = this.#deps;
    if (this.#asked.length === 0 || now() - this.#warnedAt < QUIET_MS) return;
    const claims = claimsOf(token);
    if (claims === undefined) return;
    const audiences = [claims['aud'] ?? []].flat();
    if (audiences.some((each) => typeof each === 'string' && this.#asked.includes(each))) return;
    this.#warnedAt = now();
    const shown = audiences.slice(0, MAX_SHOWN);
    log.warn('the exchanged token has another audience than asked for', { backend, asked: this.#asked, aud: shown });
  }
}
