import { hash } from 'node:crypto';
import {
  KeyValueStoreUnavailable,
  type Argument,
  type KeyValueStore,
  type Script,
} from '../../../kvstore/key-value-store.ts';
import type { Sealer } from '../sealing.ts';
import { StoreUnavailable } from '../store.ts';

/** Returns the hash that stands for a secret in a key: a reader of the key cannot present the secret. */
export const sha256 = (secret: string): string => hash('sha256', secret, 'hex');

/** Access to the key-value store: builds keys, seals records, and translates errors to `StoreUnavailable`. */
export class SealedRecords {
  readonly #store: KeyValueStore;
  readonly #sealer: Sealer;
  /** ms since the epoch. For stored points in time; TTLs are timed by the store itself. */
  readonly now: () => number;

  constructor(store: KeyValueStore, sealer: Sealer, now: () => number) {
    this.#store = store;
    this.#sealer = sealer;
    this.now = now;
  }

  key(...parts: readonly string[]): string {
    return this.#store.key(parts.join(':'));
  }

  seal(key: string, record: unknown): string {
    return this.#sealer.seal(key, JSON.stringify(record));
  }

  /** Returns the record that was sealed under this key; undefined for any other text. */
  unseal(key: string, sealed: string): unknown {
    return parse(this.#sealer.open(key, sealed));
  }

  async getSealed<T>(key: string): Promise<T | undefined> {
    const text = await this.#text(key);
    return text === undefined ? undefined : (this.unseal(key, text) as T | undefined);
  }

  async get<T>(key: string): Promise<T | undefined> {
    return parse(await this.#text(key)) as T | undefined;
  }

  /** Returns false when NX is set and the key exists. */
  async set(key: string, value: string, ttlMs: number, ...flags: readonly 'NX'[]): Promise<boolean> {
    if (ttlMs <= 0) return true;
    return (await this.command('SET', key, value, 'PX', wholeMs(ttlMs), ...flags)) === 'OK';
  }

  async command(name: string, ...args: readonly Argument[]): Promise<unknown> {
    try {
      return await this.#store.command(name, ...args);
    } catch (error) {
      throw translated(error);
    }
  }

  async run(script: Script, keys: readonly string[], ...args: readonly Argument[]): Promise<unknown> {
    try {
      return await this.#store.run(script, keys, args);
    } catch (error) {
      throw translated(error);
    }
  }

  async #text(key: string): Promise<string | undefined> {
    const value = await this.command('GET', key);
    return typeof value === 'string' ? value : undefined;
  }
}

const translated = (error: unknown): unknown =>
  error instanceof KeyValueStoreUnavailable ? new StoreUnavailable(error.message) : error;

function parse(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Rounds up to whole milliseconds, at least one, as Redis requires. */
export const wholeMs = (ms: number): number => Math.max(1, Math.ceil(ms));

/** Returns a list answer as texts, with '' for missing items. */
export function textList(answer: unknown): string[] {
  return Array.isArray(answer) ? answer.map((item: unknown) => (typeof item === 'string' ? item : '')) : [];
}

/** Function of scripts that extends the TTL of a key to at least this value. */
export const KEEP_AT_LEAST = `
local function keep_at_least(key, ttl)
  if redis.call('PTTL', key) < ttl then redis.call('PEXPIRE', key, ttl) end
end
`;
