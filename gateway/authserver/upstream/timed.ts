import type { Upstream } from './upstream.ts';
import { UpstreamError } from './upstream-error.ts';

/** Operation at a provider, successful or not. */
export interface UpstreamUse {
  readonly provider: string;
  readonly operation: 'login' | 'refresh' | 'revoke';
  /** `ok`, the fault of a login, the outcome of a refresh, `revoked` or `not_revoked`. */
  readonly outcome: string;
  readonly seconds: number;
}

export type ObserveUpstream = (use: UpstreamUse) => void;

/** Returns the provider with its operations timed and reported to `observe`. @param now ms. */
export function timed(upstream: Upstream, observe: ObserveUpstream, now: () => number): Upstream {
  const { name, host } = upstream;
  const measured = measuredBy(name, observe, now);
  return {
    name,
    get clientId() {
      return upstream.clientId;
    },
    isClient: (clientId) => upstream.isClient(clientId),
    host,
    redirectUri: () => upstream.redirectUri(),
    authorizationUrl: (request) => upstream.authorizationUrl(request),
    login: (callback, secrets) =>
      measured(
        'login',
        () => upstream.login(callback, secrets),
        () => 'ok',
      ),
    refresh: (request) =>
      measured(
        'refresh',
        () => upstream.refresh(request),
        ({ outcome }) => outcome,
      ),
    revoke: (grant) =>
      measured(
        'revoke',
        () => upstream.revoke(grant),
        (revoked) => (revoked ? 'revoked' : 'not_revoked'),
      ),
    warmUp: () => {
      upstream.warmUp();
    },
    status: () => upstream.status(),
    close: () => upstream.close(),
  };
}

const measuredBy =
  (provider: string, observe: ObserveUpstream, now: () => number) =>
  async <T>(
    operation: UpstreamUse['operation'],
    ask: () => Promise<T>,
    outcomeOf: (result: T) => string,
  ): Promise<T> => {
    const began = now();
    const report = (outcome: string): void => {
      observe({ provider, operation, outcome, seconds: (now() - began) / 1_000 });
    };
    try {
      const result = await ask();
      report(outcomeOf(result));
      return result;
    } catch (error) {
      report(error instanceof UpstreamError ? error.fault : 'fault');
      throw error;
    }
  };
