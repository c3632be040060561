import type { KeyValueStore } from '../../kvstore/key-value-store.ts';
import { Replica, type ReplicaOptions } from './replica.ts';

type OnReplica = (replica: Replica) => void;

/** The replica that this process is while its configuration has a store for sessions. */
export class CurrentReplica {
  readonly #options: Omit<ReplicaOptions, 'store'>;
  readonly #callbacks: OnReplica[] = [];
  #current: Replica | undefined;

  constructor(options: Omit<ReplicaOptions, 'store'>) {
    this.#options = options;
  }

  get current(): Replica | undefined {
    return this.#current;
  }

  /** Shares sessions through `store` from now on; undefined: no longer. */
  use(store: KeyValueStore | undefined): void {
    this.close();
    this.#current = store && new Replica({ ...this.#options, store });
    if (this.#current) for (const callback of this.#callbacks) callback(this.#current);
  }

  /** Calls back with the replica, now and whenever it changes. */
  onChange(callback: OnReplica): void {
    this.#callbacks.push(callback);
    if (this.#current) callback(this.#current);
  }

  close(): void {
    this.#current?.close();
    this.#current = undefined;
  }
}
