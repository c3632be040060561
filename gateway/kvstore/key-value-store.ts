/** The store did not answer, or answered with an error. `message` is for the log: it contains no key, value or password. */
export class KeyValueStoreUnavailable extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'KeyValueStoreUnavailable';
  }
}

/** Lua program that the store runs atomically. */
export interface Script {
  /** Unique name of the command that the client defines for it; letters only. */
  readonly name: string;
  readonly lua: string;
}

export type Argument = string | number | Buffer;

/** Receives a message that was published to a channel. */
export type OnMessage = (channel: string, message: Buffer) => void;

/**
 * Redis or a compatible server. A failing call rejects with `KeyValueStoreUnavailable`: at once without a connection,
 * otherwise within `replyTimeoutMs`. Commands are never queued and never sent twice: a rejected write may have happened,
 * but at most once.
 */
export interface KeyValueStore {
  /** Returns the name with the prefix of this store. */
  key(name: string): string;
  /** Sends one command. `args[0]` is a key. */
  command(name: string, ...args: readonly Argument[]): Promise<unknown>;
  /** Like `command`, with replies as bytes. */
  bytes(name: string, ...args: readonly Argument[]): Promise<unknown>;
  run(script: Script, keys: readonly string[], args: readonly Argument[]): Promise<unknown>;
  /** Like `run`, with replies as bytes. */
  runBytes(script: Script, keys: readonly string[], args: readonly Argument[]): Promise<unknown>;
  /**
   * Subscribes to channels on a connection of its own, and again after each reconnect. Messages that are published
   * while it is not connected are lost.
   */
  subscribe(channels: readonly string[], onMessage: OnMessage): void;
  close(): void;
}
