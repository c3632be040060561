/** No answer, or an error instead of one. `message` is for the log: nothing of any key, value or password. */
export class KeyValueStoreUnavailable extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'KeyValueStoreUnavailable';
  }
}

/** A program that the store runs as one step. */
export interface Script {
  /** Its name as a command of the client: letters only, unique. */
  readonly name: string;
  readonly lua: string;
}

export type Argument = string | number;

/**
 * A Redis, or what speaks its protocol. Every call rejects with `KeyValueStoreUnavailable`: at once while there is no
 * connection, else within `replyTimeoutMs`. Nothing is queued and nothing is sent twice, so that a rejected write may
 * have happened, but only once.
 */
export interface KeyValueStore {
  /** The name with the prefix of this store. */
  key(name: string): string;
  /** `args[0]` is a key. */
  command(name: string, ...args: readonly Argument[]): Promise<unknown>;
  run(script: Script, keys: readonly string[], args: readonly Argument[]): Promise<unknown>;
  close(): void;
}
