import type { ServerMetadata } from 'openid-client';
import type { Outbound } from '../../../outbound/fetch.ts';
import { policyFor, type OutboundFlags, type OutboundPolicy } from '../../../outbound/policy.ts';
import type { UpstreamDeps } from '../upstream.ts';

/** Metadata of a provider, and the guard for its endpoints. */
export interface Provider {
  readonly metadata: ServerMetadata;
  readonly outbound: Outbound;
}

interface GuardSettings extends OutboundFlags {
  /** PEM bundle trusted beside the system roots. */
  readonly caFile?: string | undefined;
}

/** Outbound guards of one provider: one per policy that its configured URLs require. */
export class Guards {
  readonly #settings: GuardSettings;
  readonly #deps: Pick<UpstreamDeps, 'outbound' | 'log'>;
  readonly #guards = new Map<string, Outbound>();
  readonly #byUrl = new Map<string, Outbound>();

  constructor(settings: GuardSettings, deps: Pick<UpstreamDeps, 'outbound' | 'log'>) {
    this.#settings = settings;
    this.#deps = deps;
  }

  /** Returns the guard for a configured URL and for the URLs in the document behind it. */
  of(configuredUrl: string): Outbound {
    const known = this.#byUrl.get(configuredUrl);
    if (known) return known;
    const policy = policyFor(configuredUrl, this.#settings);
    const key = JSON.stringify([policy, URL.parse(configuredUrl)?.host]);
    const guard = this.#guards.get(key) ?? this.#create(policy, configuredUrl);
    this.#guards.set(key, guard);
    this.#byUrl.set(configuredUrl, guard);
    return guard;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#guards.values()].map((guard) => guard.close()));
  }

  #create(policy: OutboundPolicy, configuredUrl: string): Outbound {
    const { outbound, log } = this.#deps;
    return outbound({ policy, configuredUrl, caFile: this.#settings.caFile, log });
  }
}
