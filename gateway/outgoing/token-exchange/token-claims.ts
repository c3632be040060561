import { decodeJwt } from 'jose';
import type { JsonObject } from '../../contract/json.ts';
import type { StrategyDeps } from '../authenticator.ts';
import type { TokenExchangeConfig } from './config.ts';

/** Age up to which a token counts as new: the user has just logged in, or the provider has just refreshed the login. */
const NEW_MS = 120_000;

/** Returns the claims of a JWT without verifying it; undefined for another token. */
export function claimsOf(token: string): JsonObject | undefined {
  try {
    return decodeJwt(token);
  } catch {
    return undefined;
  }
}

/** Returns the time in `iat`, ms since the epoch. */
export function issuedAt(claims: JsonObject | undefined): number | undefined {
  const iat = claims?.['iat'];
  return typeof iat === 'number' ? iat * 1_000 : undefined;
}

/** Returns true when a login cannot give a newer token that the endpoint would treat differently. */
export const isNew = (issued: number | undefined, now: number): boolean =>
  issued !== undefined && now - issued <= NEW_MS;

const WARNING_PAUSE_MS = 60_000;
const MAX_SHOWN_AUDIENCES = 5;

/** Warns when exchanged tokens have another audience than the configuration asks for: the backend will reject them. */
export class ExchangedAudiences {
  readonly #asked: readonly string[];
  readonly #deps: Pick<StrategyDeps, 'log' | 'now' | 'backend'>;
  #warnedAt = -Infinity;

  constructor({ audience = '', resource = '' }: TokenExchangeConfig, deps: StrategyDeps) {
    this.#asked = [audience, resource].filter((each) => each !== '');
    this.#deps = deps;
  }

  /** Compares the `aud` of a JWT; an opaque token does not show it. */
  compare(token: string): void {
    const { log, now, backend } = this.#deps;
    if (this.#asked.length === 0 || now() - this.#warnedAt < WARNING_PAUSE_MS) return;
    const claims = claimsOf(token);
    if (claims === undefined) return;
    const audiences = [claims['aud'] ?? []].flat();
    if (audiences.some((each) => typeof each === 'string' && this.#asked.includes(each))) return;
    this.#warnedAt = now();
    const shown = audiences.slice(0, MAX_SHOWN_AUDIENCES);
    log.warn('the exchanged token has another audience than asked for', { backend, asked: this.#asked, aud: shown });
  }
}
