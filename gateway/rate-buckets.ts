import { isDeepStrictEqual } from 'node:util';
import type { GatewayConfig } from './contract/gateway-config.ts';
import type { Logger } from './contract/logger.ts';
import type { KeyValueStore } from './kvstore/key-value-store.ts';
import type { Buckets, RateLimitObserver } from './policy/rate-limit/buckets.ts';
import { MemoryBuckets } from './policy/rate-limit/memory-buckets.ts';
import { StoreBuckets } from './policy/rate-limit/store-buckets.ts';
import type { Change } from './kit/parts.ts';
import { keySection, openSharedStore, reachStore, sharedStoreOf } from './shared-store.ts';

/** Longest wait for the store. A slower store counts as unavailable. */
const REPLY_TIMEOUT_MS = 500;

export interface RateBucketsDeps {
  readonly log: Logger;
  readonly observer: RateLimitObserver;
  /** Value of an environment variable. */
  readonly env: (name: string) => string | undefined;
}

/** Buckets of one store. */
interface Opened {
  /** The settings that it was opened with. */
  readonly place: unknown;
  readonly buckets: StoreBuckets;
  readonly store: KeyValueStore;
}

/** Token buckets of one virtual server, in its store or in memory. They outlive configurations with the same store. */
export class RateBuckets {
  readonly #deps: RateBucketsDeps;
  readonly #memory = new MemoryBuckets(() => performance.now());
  #opened: Opened | undefined;
  #limits: unknown;

  constructor(deps: RateBucketsDeps) {
    this.#deps = deps;
  }

  get current(): Buckets {
    return this.#opened?.buckets ?? this.#memory;
  }

  /**
   * Opens the store of `config`, if it is another store. Rejects with an Error that names an unusable setting.
   */
  async prepare(config: GatewayConfig): Promise<Change> {
    const before = this.#opened;
    const place = placeOf(config);
    const next = isDeepStrictEqual(place, before?.place) ? before : place && (await this.#open(place));
    return {
      apply: () => {
        this.#opened = next;
        if (!isDeepStrictEqual(config.rate_limit_config, this.#limits)) next?.buckets.reset();
        this.#limits = config.rate_limit_config;
        // calls that already wait for it get their answer within this time
        if (before && before !== next) setTimeout(() => closeStore(before), REPLY_TIMEOUT_MS).unref();
      },
      discard: () => {
        if (next && next !== before) closeStore(next);
      },
    };
  }

  close(): void {
    if (this.#opened) closeStore(this.#opened);
  }

  async #open(place: NonNullable<ReturnType<typeof placeOf>>): Promise<Opened> {
    const { log, observer, env } = this.#deps;
    const store = await openSharedStore(place.shared, place.section, { log, env, replyTimeoutMs: REPLY_TIMEOUT_MS });
    await reachStore(store);
    return { place, store, buckets: new StoreBuckets({ store, observer, log, clock: () => performance.now() }) };
  }
}

function closeStore({ buckets, store }: Opened): void {
  buckets.close();
  store.close();
}

/** Returns the store of a configuration with rate limits and the section of its keys; undefined without one. */
function placeOf(config: GatewayConfig) {
  const shared = config.rate_limit_config && sharedStoreOf(config);
  if (!shared) return undefined;
  const { name, rate_limit_namespace: namespace, vmcp } = config;
  return { shared, section: keySection('rl', namespace ?? vmcp.namespace, vmcp.store_name ?? name) };
}
