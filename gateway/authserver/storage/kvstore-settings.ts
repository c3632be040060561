import { durationMs } from '../../contract/fields.ts';
import { readSecretFile } from '../../outbound/watched-file.ts';
import {
  keyPrefixProblem,
  parseHostPort,
  type HostPort,
  type KeyValueCredentials,
  type KeyValueServers,
  type KeyValueSettings,
  type KeyValueTls,
} from '../../kvstore/settings.ts';
import type { KvstoreConfig } from '../../contract/run-config-auth-server-storage.ts';

const REDIS_PORT = 6379;
const SENTINEL_PORT = 26379;

/** Stands for the prefix that is only known where the store is opened. */
const UNUSED_PREFIX = '{unused}:';

interface Surroundings {
  readonly env: (name: string) => string | undefined;
  /** Where the configuration names none. */
  readonly keyPrefix: string;
}

/** @throws Error a sentence that says what in `storage.kvstore_config` cannot be used. */
export function kvstoreSettings(config: KvstoreConfig, { env, keyPrefix }: Surroundings): KeyValueSettings {
  const prefix = config.key_prefix ?? keyPrefix;
  const problem = keyPrefixProblem(prefix);
  if (problem !== undefined) fault('key_prefix', problem);
  if (config.auth_type !== undefined && config.auth_type !== 'aclUser') fault('auth_type', 'must be aclUser');
  const { read_timeout = '3s', write_timeout = '3s', dial_timeout = '5s' } = config;
  return {
    servers: servers(config),
    db: config.sentinel_config?.db ?? 0,
    keyPrefix: prefix,
    credentials: credentials(config.acl_user_config, env),
    tls: tls(config.tls),
    connectTimeoutMs: timeoutMs('dial_timeout', dial_timeout),
    // One connection carries reads and writes, and an answer ends the wait for both.
    replyTimeoutMs: Math.max(timeoutMs('read_timeout', read_timeout), timeoutMs('write_timeout', write_timeout)),
  };
}

function servers({ addr, cluster_mode = false, sentinel_config, sentinel_tls }: KvstoreConfig): KeyValueServers {
  if ((addr === undefined) === (sentinel_config === undefined)) fault('addr', 'is set, or sentinel_config: not both');
  if (sentinel_config) {
    if (cluster_mode) fault('cluster_mode', 'needs addr');
    const { master_name: masterName = '', sentinel_addrs: addresses = [] } = sentinel_config;
    if (masterName === '') fault('sentinel_config.master_name', 'is required');
    if (addresses.length === 0) fault('sentinel_config.sentinel_addrs', 'is required');
    const path = 'sentinel_config.sentinel_addrs';
    const parsed = addresses.map((address) => hostPort(path, address, SENTINEL_PORT));
    return { kind: 'sentinel', masterName, addresses: parsed, tls: tls(sentinel_tls) };
  }
  const address = hostPort('addr', addr ?? '', REDIS_PORT);
  return cluster_mode ? { kind: 'cluster', addresses: [address] } : { kind: 'single', address };
}

function hostPort(path: string, text: string, defaultPort: number): HostPort {
  return parseHostPort(text, defaultPort) ?? fault(path, `holds "${text}", which is not host:port`);
}

function timeoutMs(path: string, text: string): number {
  const ms = durationMs(text);
  return ms >= 1 ? ms : fault(path, 'must be 1ms or more');
}

const tls = (config: KvstoreConfig['tls']): KeyValueTls | undefined =>
  config && { caFile: config.ca_cert_file, insecureSkipVerify: config.insecure_skip_verify };

type AclUser = NonNullable<KvstoreConfig['acl_user_config']>;

/** Files are read when they are needed, so that a changed one counts at the next connection. */
function credentials(config: AclUser | undefined, env: Surroundings['env']): (() => KeyValueCredentials) | undefined {
  if (!config) return undefined;
  const password = source('password', config.password_file, config.password_env_var, env);
  const username = source('username', config.username_file, config.username_env_var, env);
  if (!password) fault('acl_user_config', 'needs password_file or password_env_var');
  return () => ({ password: password(), username: username?.() });
}

function source(
  name: string,
  file: string | undefined,
  variable: string | undefined,
  env: Surroundings['env'],
): (() => string) | undefined {
  if (file !== undefined && variable !== undefined)
    fault(`acl_user_config.${name}_file`, `is set, or ${name}_env_var: not both`);
  if (file !== undefined) return () => readSecretFile(file) || fault(`acl_user_config.${name}_file`, 'is empty');
  if (variable === undefined) return undefined;
  const path = `acl_user_config.${name}_env_var`;
  return () => env(variable) || fault(path, `names ${variable}, which is not set`);
}

class KvstoreConfigError extends Error {
  override readonly name = 'KvstoreConfigError';
  readonly member: string;
  readonly detail: string;

  constructor(member: string, detail: string) {
    super(`storage.kvstore_config.${member} ${detail}`);
    this.member = member;
    this.detail = detail;
  }
}

function fault(member: string, detail: string): never {
  throw new KvstoreConfigError(member, detail);
}

/** What cannot be used, before any secret is looked up; undefined: nothing. */
export function kvstoreFault(config: KvstoreConfig): { readonly member: string; readonly message: string } | undefined {
  try {
    kvstoreSettings(config, { env: () => undefined, keyPrefix: UNUSED_PREFIX });
    return undefined;
  } catch (error) {
    if (error instanceof KvstoreConfigError) return { member: error.member, message: error.detail };
    throw error;
  }
}
