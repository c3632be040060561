import { setTimeout as sleep } from 'node:timers/promises';
import { openKeyValues, readStorage, storeFacts } from './authserver/storage/index.ts';
import type { GatewayConfig } from './contract/gateway-config.ts';
import type { Logger } from './contract/logger.ts';
import type { Problem } from './contract/problem.ts';
import type { StorageConfig } from './contract/run-config/auth-server-storage.ts';
import type { KeyValueStore } from './kvstore/key-value-store.ts';
import type { OnDenied } from './kvstore/settings.ts';

/** Environment variable with the password of `scaling_config.session_kvstore`, unless that names a file. */
export const PASSWORD_VARIABLE = 'VMCP_SESSION_KVSTORE_PASSWORD';

const PATH = 'scaling_config.session_kvstore';
const DEFAULT_PREFIX = 'vmcp:';

/** Place of the key-value store that the replicas of a virtual server share. */
interface SharedStore {
  readonly storage: StorageConfig;
  /** Beginning of every key. */
  readonly prefix: string;
  readonly db?: number | undefined;
  /** Environment variable that may hold the password. */
  readonly passwordVariable?: string;
}

export interface SharedStoreDeps {
  readonly log: Pick<Logger, 'warn' | 'info'>;
  /** Value of an environment variable. */
  readonly env: (name: string) => string | undefined;
  readonly replyTimeoutMs: number;
  /** Called once, when the user of the store lacks rights. */
  readonly onDenied?: OnDenied;
}

type SessionStore = NonNullable<NonNullable<GatewayConfig['scaling_config']>['session_kvstore']>;

/**
 * Returns the store of sessions and rate limits: `session_kvstore`, else that of the authorization server if replicas
 * share it, else undefined.
 */
export function sharedStoreOf({
  embedded_auth_server_config: server,
  scaling_config,
}: GatewayConfig): SharedStore | undefined {
  const sessions = scaling_config?.session_kvstore;
  if (!sessions) {
    const { storage } = server ?? {};
    return storage && storeFacts(storage.type).isShared ? { storage, prefix: DEFAULT_PREFIX } : undefined;
  }
  const { key_prefix: prefix = DEFAULT_PREFIX, db, password_file: file } = sessions;
  return {
    storage: storageOf(sessions),
    prefix,
    ...(db !== undefined && { db }),
    ...(file === undefined && { passwordVariable: PASSWORD_VARIABLE }),
  };
}

/**
 * Opens the store. `section` is the part of its keys after the prefix, with a hash tag that keeps them in one slot of a
 * cluster. Rejects with an Error that names an unusable setting; an unreachable store is not an error.
 */
export async function openSharedStore(
  { storage, prefix, db, passwordVariable }: SharedStore,
  section: string,
  { log, env, replyTimeoutMs, onDenied }: SharedStoreDeps,
): Promise<KeyValueStore> {
  const complete =
    passwordVariable === undefined || env(passwordVariable) === undefined
      ? storage
      : withPassword(storage, passwordVariable);
  const store = await openKeyValues(complete, { log, env, replyTimeoutMs, db, keyPrefix: prefix + section, onDenied });
  if (!store) throw new Error(`a store of type ${storage.type ?? 'memory'} has no keys to share`);
  return store;
}

/** Longest wait for the connection at the start. */
const REACH_MS = 500;
const REACH_STEP_MS = 10;

/** Waits for the connection, so that the first requests find the store. A store that is down does not prevent the start. */
export async function reachStore(store: KeyValueStore): Promise<void> {
  for (let waitedMs = 0; waitedMs < REACH_MS; waitedMs += REACH_STEP_MS) {
    const isReached = await store.command('EXISTS', store.key('shared')).then(
      () => true,
      () => false,
    );
    if (isReached) return;
    await sleep(REACH_STEP_MS);
  }
}

/**
 * Returns the section of the keys of a virtual server. Names of a configuration that no operator has written may contain
 * braces, which would be another hash tag.
 */
export function keySection(use: string, namespace = 'default', name = 'vmcp'): string {
  return `${use}:{${[namespace, name].map(encodeURIComponent).join(':')}}:`;
}

const storageOf = ({ address, password_file: file, tls }: SessionStore): StorageConfig => ({
  type: 'kvstore',
  kvstore_config: {
    addr: address ?? '',
    ...(file !== undefined && { acl_user_config: { password_file: file } }),
    ...(tls && { tls }),
  },
});

const withPassword = ({ kvstore_config: config, ...storage }: StorageConfig, variable: string): StorageConfig => ({
  ...storage,
  kvstore_config: { ...config, acl_user_config: { password_env_var: variable } },
});

/** Lists problems in `scaling_config`, of which only `session_kvstore` has an effect. */
export function sharedStoreProblems({ scaling_config: scaling }: GatewayConfig): Problem[] {
  const { backend_replicas: replicas, session_kvstore: sessions } = scaling ?? {};
  const problems = sessions ? sessionProblems(sessions) : [];
  if (replicas === undefined) return problems;
  const message = 'a gateway does not start pods of its backends: remove it';
  return [{ reason: 'NotSupportedYet', path: 'scaling_config.backend_replicas', message }, ...problems];
}

/** Member of `session_kvstore` for each member of the store that it describes. */
const MEMBERS: readonly (readonly [string, string])[] = [
  ['kvstore_config.addr', 'address'],
  ['kvstore_config.acl_user_config', 'password_file'],
  ['kvstore_config.tls', 'tls'],
];

function sessionProblems(sessions: SessionStore): Problem[] {
  const { key_prefix: prefix = DEFAULT_PREFIX, db = 0 } = sessions;
  const read = readStorage(storageOf(sessions));
  const found = 'problems' in read ? read.problems : [];
  const problems = found.map((problem) => {
    const [member = ''] = MEMBERS.filter(([path]) => problem.path.startsWith(path)).map(([, name]) => name);
    return { ...problem, path: `${PATH}.${member}` };
  });
  if (!/^[^{}\s]*:$/u.test(prefix)) {
    const message = 'must end with ":" and contain no braces, such as "vmcp:"';
    problems.push({ reason: 'InvalidValue', path: `${PATH}.key_prefix`, message });
  }
  if (db < 0) problems.push({ reason: 'InvalidValue', path: `${PATH}.db`, message: 'must be 0 or more' });
  return problems;
}
