import { Type, type TObject } from 'typebox';
import { Closed } from '../../contract/fields.ts';
import type { Problem } from '../../contract/problem.ts';
import { readDocument } from '../../contract/run-config/document.ts';
import { storageMembers, type StorageConfig } from '../../contract/run-config/auth-server-storage.ts';
import type { Store } from './store.ts';
import type { KeyValueStore } from '../../kvstore/key-value-store.ts';
import type { KeyValueDeps, StoreDeps, StoreFacts, StoreScope } from './variant.ts';

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

const at = (prefix: string, problem: Problem): Problem => ({ ...problem, path: `${prefix}.${problem.path}` });

/**
 * Functions over the registered stores; the first one is the default. All casts are here: resources and configurations
 * are checked against the schemas of the store before.
 */
export function storeRegistry(stores: readonly [AnyStore, ...AnyStore[]]) {
  const [byDefault] = stores;
  const named = (type: string): AnyStore | undefined =>
    stores.find((store) => store.type === type || store.aliases?.includes(type) === true);

  /** Facts about the store of this type or alias; about the default store when there is none. */
  const storeFacts = (type: string = byDefault.type): StoreFacts => named(type) ?? byDefault;

  /** Checks `embedded_auth_server_config.storage`. Paths start at `storage`. */
  const readStorage = (storage: StorageConfig): Read => {
    const { type = byDefault.type } = storage;
    const store = stores.find((candidate) => candidate.type === type);
    if (!store) {
      const message = `must be one of ${stores.map((known) => known.type).join(', ')}`;
      return { problems: [{ reason: 'InvalidValue', path: 'type', message }] };
    }
    const problems = [...foreignMembers(storage, store, stores), ...missingMember(storage, store)];
    if (problems.length > 0) return { problems };
    const read = readDocument(storageSchema(store), storage);
    if ('problems' in read) return read;
    const member = memberOf(store);
    const own = valueOf(read.config, member);
    const found = own === undefined ? [] : (store.check?.(own as never) ?? []);
    return found.length > 0 ? { problems: found.map((problem) => at(member, problem)) } : read;
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

  /** The store of a spec: the default one also where the member that the type names is missing. */
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
    .map((other) => ({
      reason: 'RuleViolated',
      path: memberOf(other),
      message: `has no effect: set storage.type to ${other.type}, or remove it`,
    }));

function missingMember(storage: StorageConfig, store: AnyStore): Problem[] {
  const member = memberOf(store);
  if (!store.spec || valueOf(storage, member) !== undefined) return [];
  return [{ reason: 'MissingField', path: member, message: `is required when storage.type is ${store.type}: set it` }];
}
