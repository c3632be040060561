import { ownCallback } from '../contract/auth-server-addresses.ts';
import type { AuthServerSettings } from './settings.ts';
import { createUpstream, type UpstreamEntry } from './upstream/index.ts';
import { timed, type ObserveUpstream } from './upstream/timed.ts';
import type { Upstream, UpstreamDeps } from './upstream/upstream.ts';

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
