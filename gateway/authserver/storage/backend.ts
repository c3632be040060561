import type { StorageConfig } from '../../contract/run-config-auth-server-storage.ts';
import type { Store } from './store.ts';

export interface Logger {
  warn(message: string, facts?: Readonly<Record<string, unknown>>): void;
  info(message: string, facts?: Readonly<Record<string, unknown>>): void;
}

export interface StoreDeps {
  /** ms since the epoch. */
  readonly now: () => number;
  readonly log: Logger;
  /** Value of an environment variable. */
  readonly env: (name: string) => string | undefined;
  /** HMAC secrets as they are now, the current one first; the same array while nothing has changed. */
  readonly secrets: () => readonly Uint8Array[];
  /** Where the configuration names none, such as `vmcp:auth:{default:name}:`. */
  readonly keyPrefix: string;
}

/** One way of keeping things. */
export interface StoreBackend<Type extends string = string> {
  readonly type: Type;
  readonly description: string;
  /** Other processes see what this one writes, and it outlives them all. */
  readonly shared: boolean;
  /** @throws Error a sentence that says what in the configuration cannot be used. A store that is down is no error. */
  open(config: StorageConfig, deps: StoreDeps): Promise<Store>;
}
