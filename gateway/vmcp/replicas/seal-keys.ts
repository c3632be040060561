import { randomBytes } from 'node:crypto';
import type { KeyValueStore, Script } from '../../kvstore/key-value-store.ts';
import { SingleFlight } from '../../kit/tasks.ts';

const SHARE: Script = {
  name: 'vmcpKeyShare',
  lua: `redis.call('SET', KEYS[1], ARGV[1], 'NX')
return redis.call('GET', KEYS[1])`,
};

const CHECK_EVERY_MS = 10_000;
/** Keys before the current one that still open what they sealed. */
const MOST_FORMER = 3;

/** Random secrets that the replicas of a virtual server share, newest first. */
export interface SealKeys {
  /** Empty until the store has answered once. */
  readonly current: readonly Buffer[];
  /** Resolves when there is a secret; undefined when there is one. Rejects with `KeyValueStoreUnavailable`. */
  ready(): Promise<void> | undefined;
}

/** A secret of this process alone. */
export const ownSealKeys = (): SealKeys => {
  const current = [randomBytes(32)];
  return { current, ready: () => undefined };
};

/**
 * Secret in the store: the first replica creates it. It is compared with the store from time to time, because a store
 * that has lost its data gets another one.
 */
export class SharedSealKeys implements SealKeys {
  current: readonly Buffer[] = [];
  readonly #store: KeyValueStore;
  readonly #timer: NodeJS.Timeout;
  readonly #reading = new SingleFlight();

  constructor(store: KeyValueStore) {
    this.#store = store;
    const read = (): void => {
      this.#read().catch(() => undefined);
    };
    read();
    this.#timer = setInterval(read, CHECK_EVERY_MS).unref();
  }

  ready(): Promise<void> | undefined {
    return this.current.length > 0 ? undefined : this.#read();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #read(): Promise<void> {
    return this.#reading.run(() => this.#share());
  }

  async #share(): Promise<void> {
    const [present] = this.current;
    const offered = (present ?? randomBytes(32)).toString('base64');
    const key = Buffer.from((await this.#store.run(SHARE, [this.#store.key('key')], [offered])) as string, 'base64');
    if (present?.equals(key) !== true) this.current = [key, ...this.current].slice(0, 1 + MOST_FORMER);
  }
}
