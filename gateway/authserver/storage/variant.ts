import { Type, type Static, type TObject } from 'typebox';
import { below, invalid, missing, problem, type Problem } from '../../contract/problem.ts';
import type { Variant, VariantScope } from '../../contract/variant.ts';
import type { KeyValueStore } from '../../kvstore/key-value-store.ts';
import type { OnDenied } from '../../kvstore/settings.ts';
import type { Store } from './store.ts';
import type { Logger } from '../../contract/logger.ts';
import { Closed } from '../../contract/fields.ts';
import { readDocument } from '../../contract/run-config/document.ts';
import { storageMembers, type StorageConfig } from '../../contract/run-config/auth-server-storage.ts';

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

interface KeyValueDeps extends Pick<StoreDeps, 'log' | 'env'> {
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
interface StoreFacts {
  /** All replicas see the same records. */
  readonly isShared: boolean;
  /** Records outlive the process that wrote them. */
  readonly survivesRestart: boolean;
}

/**
 * A store as one variant: its fields and rules in a resource, its member `<type>_config` in the gateway's configuration,
 * and the store itself. `create` rejects with an Error that names the setting; an unreachable store is not an error.
 */
interface StoreVariant<Type extends string, Spec extends TObject | undefined, Config extends TObject>
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

/** A store of any type. */
interface AnyStore extends StoreFacts {
  readonly type: string;
  readonly aliases?: readonly string[];
  readonly spec: TObject | undefined;
  readonly config: TObject;
  resolve(spec: never, scope: StoreScope): object;
  check?(config: never): Problem[];
  create(config: never, deps: StoreDeps): Promise<Store>;
  openKeyValues?(config: never, deps: KeyValueDeps): Promise<KeyValueStore>;
}

/** `authServerConfig.storage`; the member that the type names holds the spec of the store. */
interface StorageSpec {
  readonly type?: string;
  readonly maxDCRClients?: number;
}

type Read = { readonly config: StorageConfig } | { readonly problems: Problem[] };

const memberOf = ({ type }: AnyStore): string => `${type}_config`;
const valueOf = (block: object, member: string): unknown => (block as Readonly<Record<string, unknown>>)[member];

/** `sentinel_config.db` -> `sentinelConfig.db`. */
const specPath = (path: string): string => path.replaceAll(/_([a-z])/gu, (_, letter: string) => letter.toUpperCase());

/**
 * Functions over the registered stores; the first store is the default. All casts are here: resources and configurations
 * are checked against the schemas of the store before.
 */
export function storeRegistry(stores: readonly [AnyStore, ...AnyStore[]]) {
  const [byDefault] = stores;
  const named = (type: string): AnyStore | undefined =>
    stores.find((store) => store.type === type || store.aliases?.includes(type) === true);

  /** Facts about the store of this type or alias; about the default store without a type. */
  const storeFacts = (type: string = byDefault.type): StoreFacts => named(type) ?? byDefault;

  /** Checks `embedded_auth_server_config.storage`. Paths start at `storage`. */
  const readStorage = (storage: StorageConfig): Read => {
    const { type = byDefault.type } = storage;
    const store = stores.find((candidate) => candidate.type === type);
    if (!store) {
      const message = `must be one of ${stores.map((known) => known.type).join(', ')}`;
      return { problems: [invalid('type', message)] };
    }
    const problems = [...foreignMembers(storage, store, stores), ...missingMember(storage, store)];
    if (problems.length > 0) return { problems };
    const read = readDocument(storageSchema(store), storage);
    if ('problems' in read) return read;
    const member = memberOf(store);
    const own = valueOf(read.config, member);
    const found = own === undefined ? [] : (store.check?.(own as never) ?? []);
    return found.length > 0 ? { problems: below(member, found) } : read;
  };

  /** Creates the store that the configuration names. Rejects with an Error that names an unusable setting. */
  const createStore = async (storage: StorageConfig, deps: StoreDeps): Promise<Store> => {
    const read = readStorage(storage);
    const store = named(storage.type ?? byDefault.type);
    if ('problems' in read || !store) {
      const [problem] = 'problems' in read ? read.problems : [];
      throw new Error(`storage.${problem?.path ?? 'type'} ${problem?.message ?? 'is unknown'}`);
    }
    return store.create((valueOf(read.config, memberOf(store)) ?? {}) as never, deps);
  };

  /**
   * Opens another connection to the key-value store of a checked configuration. Returns undefined for a store that has
   * none. Rejects as `createStore` does.
   */
  const openKeyValues = (storage: StorageConfig, deps: KeyValueDeps): Promise<KeyValueStore> | undefined => {
    const store = named(storage.type ?? byDefault.type) ?? byDefault;
    return store.openKeyValues?.((valueOf(storage, memberOf(store)) ?? {}) as never, deps);
  };

  /** The store of a spec: the default store also where the member that the type names is missing. */
  const storeOf = (spec: StorageSpec): AnyStore => {
    const store = named(spec.type ?? byDefault.type) ?? byDefault;
    return store.spec && valueOf(spec, store.type) === undefined ? byDefault : store;
  };

  /** Resolves `authServerConfig.storage`. `scopeOf` returns the scope of the member with this name. */
  const resolveStore = (spec: StorageSpec, scopeOf: (member: string) => StoreScope): StorageConfig => {
    const store = storeOf(spec);
    const scope = scopeOf(store.type);
    const config = store.resolve(valueOf(spec, store.type) as never, scope);
    for (const problem of store.check?.(config as never) ?? [])
      scope.problem({ ...problem, path: specPath(problem.path) });
    return {
      type: store.type,
      ...(spec.maxDCRClients !== undefined && { max_dcr_clients: spec.maxDCRClients }),
      ...(store.spec && { [memberOf(store)]: config }),
    };
  };

  return {
    createStore,
    openKeyValues,
    readStorage,
    resolveStore,
    storeFacts,
    storeOf: (spec: StorageSpec): StoreFacts => storeOf(spec),
  };
}

const storageSchema = (store: AnyStore) =>
  Closed({ ...storageMembers, ...(store.spec && { [memberOf(store)]: Type.Optional(store.config) }) });

const foreignMembers = (storage: StorageConfig, store: AnyStore, stores: readonly AnyStore[]): Problem[] =>
  stores
    .filter((other) => other !== store && valueOf(storage, memberOf(other)) !== undefined)
    .map((other) =>
      problem('RuleViolated', memberOf(other), `has no effect: set storage.type to ${other.type}, or remove it`),
    );

function missingMember(storage: StorageConfig, store: AnyStore): Problem[] {
  const member = memberOf(store);
  if (!store.spec || valueOf(storage, member) !== undefined) return [];
  return [missing(member, `is required when storage.type is ${store.type}: set it`)];
}
