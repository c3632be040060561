import type { Static, TObject } from 'typebox';
import type { Problem } from '../../contract/problem.ts';
import type { Variant, VariantScope } from '../../contract/variant.ts';
import type { KeyValueStore } from '../../kvstore/key-value-store.ts';
import type { OnDenied } from '../../kvstore/settings.ts';
import type { Store } from './store.ts';
import type { Logger } from '../../contract/logger.ts';

export interface StoreDeps {
  /** ms since the epoch. */
  readonly now: () => number;
  readonly log: Pick<Logger, 'warn' | 'info'>;
  /** Value of an environment variable. */
  readonly env: (name: string) => string | undefined;
  /** Current HMAC secrets, the signing one first; the same array until they change. */
  readonly secrets: () => readonly Uint8Array[];
  /** Default prefix of keys, such as `vmcp:auth:{default:name}:`. */
  readonly keyPrefix: string;
  /** File for the records of a store in memory; without it they end with the process. */
  readonly records?: RecordsLocation | undefined;
}

/** File with the records of a virtual server, and the providers that they belong to. */
export interface RecordsLocation {
  readonly file: string;
  /** Returns the identity of each provider by its name: users of a name whose identity has changed are other people. */
  readonly providers: () => Readonly<Record<string, string>>;
}

export interface KeyValueDeps extends Pick<StoreDeps, 'log' | 'env'> {
  /** Prefix of keys, in place of that of the configuration; see `keyPrefixProblem`. */
  readonly keyPrefix: string;
  /** Longest wait in ms for an answer; a shorter one of the configuration applies. */
  readonly replyTimeoutMs: number;
  /** Database number, in place of that of the configuration. */
  readonly db?: number | undefined;
  /** Called once, when the user of the store lacks rights. */
  readonly onDenied?: OnDenied | undefined;
}

/** Facts about the virtual server that `resolve` may read, and its outlets for files and problems. */
export interface StoreScope extends Pick<VariantScope, 'secretFile' | 'problem'> {
  readonly namespace: string;
  /** Name of the VirtualMCPServer. */
  readonly name: string;
  readonly mode: 'local' | 'cluster';
  /** Reports a setting that works but is probably a mistake. Paths start at the spec of this variant. */
  warning(problem: Problem): void;
}

/** Properties of a store that other code may depend on, instead of its type. */
export interface StoreFacts {
  /** All replicas see the same records. */
  readonly isShared: boolean;
  /** Records outlive the process that wrote them. */
  readonly survivesRestart: boolean;
}

/**
 * A store as one variant: its fields and rules in a resource, its member `<type>_config` in the gateway's configuration,
 * and the store itself. `create` rejects with an Error that names the setting; an unreachable store is not an error.
 */
export interface StoreVariant<Type extends string, Spec extends TObject | undefined, Config extends TObject>
  extends Omit<Variant<Type, Spec, Config, StoreDeps, Promise<Store>>, 'resolve'>, StoreFacts {
  /** Further names of the type in resources. */
  readonly aliases?: readonly string[];
  resolve(spec: Spec extends TObject ? Static<Spec> : undefined, scope: StoreScope): Static<Config>;
  /** Returns problems that the schema of `config` cannot express. Paths start at `config`. */
  check?(config: Static<Config>): Problem[];
  /** Opens another connection to the key-value store, for state of other parts that replicas share. Rejects as `create` does. */
  openKeyValues?(config: Static<Config>, deps: KeyValueDeps): Promise<KeyValueStore>;
}

export const defineStore = <const Type extends string, Spec extends TObject | undefined, Config extends TObject>(
  store: Omit<StoreVariant<Type, Spec, Config>, 'supported'>,
): StoreVariant<Type, Spec, Config> => ({ ...store, supported: true });
