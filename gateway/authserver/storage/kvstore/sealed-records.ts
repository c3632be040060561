import { hash } from 'node:crypto';
import {
  KeyValueStoreUnavailable,
  type Argument,
  type KeyValueStore,
  type Script,
} from '../../../kvstore/key-value-store.ts';
import type { Sealer } from '../sealing.ts';
import { StoreUnavailable } from '../store.ts';

/** Name of a secret in a key: whoever reads keys cannot present it. */
export const sha256 = (secret: string): string => hash('sha256', secret, 'hex');

/** What the parts of the key-value store have in common: keys, records as text, one error. */
export class Records {
  readonly #store: KeyValueStore;
  readonly #sealer: Sealer;
  /** ms since the epoch. For points in time that are stored; what expires soon is timed by the store itself. */
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

  /** Undefined, or what was sealed under this key: nobody else can seal. */
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

  /** False: NX was asked for, and there is something. */
  async set(key: string, value: string, ttlMs: number, ...flags: readonly 'NX'[]): Promise<boolean> {
    if (ttlMs <= 0) return true;
    return (await this.command('SET', key, value, 'PX', whole(ttlMs), ...flags)) === 'OK';
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

/** Redis takes whole milliseconds, and at least one. */
export const whole = (ms: number): number => Math.max(1, Math.ceil(ms));

/** A list that the store answers with; what is missing in it is empty. */
export function texts(answer: unknown): string[] {
  return Array.isArray(answer) ? answer.map((item: unknown) => (typeof item === 'string' ? item : '')) : [];
}

/** Makes a key live at least this long. A part of scripts. */
export const KEEP_AT_LEAST = `
local function keep_at_least(key, ttl)
  if redis.call('PTTL', key) < ttl then redis.call('PEXPIRE', key, ttl) end
end
`;
