import type { RegistrationStore, Upstream, UpstreamDeps } from './upstream.ts';
import { UpstreamError } from './upstream-error.ts';
import { ownCallback } from '../../contract/addresses.ts';
import type { AuthServerSettings } from '../settings.ts';
import { createUpstream, type UpstreamEntry } from './index.ts';
import type { Store } from '../storage/store.ts';

/** Opens the upstream providers by name, in the configured order. `observe` gets the duration of their operations. */
export function openUpstreams(
  entries: readonly UpstreamEntry[],
  { providers, callbackUrl: redirectUri, urls }: Pick<AuthServerSettings, 'providers' | 'callbackUrl' | 'urls'>,
  common: Omit<UpstreamDeps, 'name' | 'redirectUri' | 'ownRedirectUri'>,
  observe: ObserveUpstream,
): Map<string, Upstream> {
  return new Map(
    entries.map((entry, index) => {
      const name = providers[index] ?? entry.name ?? 'default';
      const ownRedirectUri = index === 0 ? undefined : ownCallback(urls.issuer, name);
      const upstream = createUpstream(entry, { ...common, name, redirectUri, ownRedirectUri });
      return [name, timed(upstream, observe, common.now)];
    }),
  );
}

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

/** Longer than a registration with discovery may take. */
const LOCK_MS = 30_000;

/** Returns the store of registrations at providers. */
export function registrationStore({ registrations, locks }: Pick<Store, 'registrations' | 'locks'>): RegistrationStore {
  return {
    get: (key) => registrations.get(key),
    put: (key, text) => registrations.put(key, text),
    delete: (key) => registrations.delete(key),
    async exclusively(key, work) {
      const lock = await locks.acquire(`registration:${key}`, LOCK_MS);
      if (!lock) return undefined;
      try {
        return await work();
      } finally {
        await locks.release(lock);
      }
    },
  };
}
