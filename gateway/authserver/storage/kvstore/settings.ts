import { durationMs } from '../../../contract/fields.ts';
import { readSecretFile } from '../../../outbound/watched-file.ts';
import {
  keyPrefixProblem,
  parseHostPort,
  type HostPort,
  type KeyValueCredentials,
  type KeyValueServers,
  type KeyValueSettings,
  type KeyValueTls,
} from '../../../kvstore/settings.ts';
import type { KvstoreConfig } from '../../../contract/run-config/auth-server-storage.ts';

const REDIS_PORT = 6379;
const SENTINEL_PORT = 26379;

interface Defaults {
  readonly env: (name: string) => string | undefined;
  /** Default key prefix. */
  readonly keyPrefix: string;
}

/** Reads `storage.kvstore_config`. @throws Error that names an unusable member. */
export function kvstoreSettings(config: KvstoreConfig, { env, keyPrefix }: Defaults): KeyValueSettings {
  const prefix = config.key_prefix ?? keyPrefix;
  const [fault] = kvstoreFaults({ ...config, key_prefix: prefix });
  if (fault) throw new Error(`storage.kvstore_config.${fault.member}: ${fault.message}`);
  const { read_timeout = '3s', write_timeout = '3s', dial_timeout = '5s' } = config;
  return {
    servers: servers(config),
    db: config.sentinel_config?.db ?? 0,
    keyPrefix: prefix,
    credentials: credentials(config.acl_user_config, env),
    tls: tls(config.tls),
    connectTimeoutMs: durationMs(dial_timeout),
    // Reads and writes share one connection, so they share one time limit.
    replyTimeoutMs: Math.max(durationMs(read_timeout), durationMs(write_timeout)),
  };
}

function servers({ addr = '', cluster_mode = false, sentinel_config, sentinel_tls }: KvstoreConfig): KeyValueServers {
  if (sentinel_config) {
    const { master_name: masterName = '', sentinel_addrs: addresses = [] } = sentinel_config;
    const parsed = addresses.map((address) => hostPort(address, SENTINEL_PORT));
    return { kind: 'sentinel', masterName, addresses: parsed, tls: tls(sentinel_tls) };
  }
  const address = hostPort(addr, REDIS_PORT);
  return cluster_mode ? { kind: 'cluster', addresses: [address] } : { kind: 'single', address };
}

/** Parses an address that `kvstoreFaults` accepts. */
const hostPort = (text: string, defaultPort: number): HostPort =>
  parseHostPort(text, defaultPort) ?? { host: text, port: defaultPort };

const tls = (config: KvstoreConfig['tls']): KeyValueTls | undefined =>
  config && { caFile: config.ca_cert_file, insecureSkipVerify: config.insecure_skip_verify };

type AclUser = NonNullable<KvstoreConfig['acl_user_config']>;

/** Returns a function that reads the files, so that a changed file takes effect at the next connection. */
function credentials(config: AclUser | undefined, env: Defaults['env']): (() => KeyValueCredentials) | undefined {
  if (!config) return undefined;
  const password = source('password', config.password_file, config.password_env_var, env);
  const username = source('username', config.username_file, config.username_env_var, env);
  return () => ({ password: password?.() ?? '', username: username?.() });
}

function source(
  name: string,
  file: string | undefined,
  variable: string | undefined,
  env: Defaults['env'],
): (() => string) | undefined {
  const given = (value: string | undefined, message: string): string => {
    if (value !== undefined && value !== '') return value;
    throw new Error(`storage.kvstore_config.acl_user_config.${name}_${message}`);
  };
  if (file !== undefined) return () => given(readSecretFile(file), 'file is empty');
  if (variable === undefined) return undefined;
  return () => given(env(variable), `env_var names ${variable}, which is not set`);
}

/** Unusable member of `storage.kvstore_config`. */
interface KvstoreFault {
  readonly member: string;
  readonly message: string;
}

/** Lists all unusable members. Reads no secrets. */
export const kvstoreFaults = (config: KvstoreConfig): KvstoreFault[] => [
  ...serverFaults(config),
  ...prefixFaults(config.key_prefix),
  ...credentialFaults(config),
  ...timeoutFaults(config),
];

const fault = (member: string, message: string): KvstoreFault => ({ member, message });

function serverFaults({
  addr,
  cluster_mode: cluster = false,
  sentinel_config: sentinels,
}: KvstoreConfig): KvstoreFault[] {
  if ((addr === undefined) === (sentinels === undefined))
    return [fault('addr', 'set addr or sentinel_config, not both')];
  if (!sentinels) return addressFaults('addr', [addr ?? '']);
  const { master_name: name = '', sentinel_addrs: addresses = [], db = 0 } = sentinels;
  const path = 'sentinel_config.sentinel_addrs';
  return [
    ...(cluster ? [fault('cluster_mode', 'a cluster has no sentinels: set addr, or remove cluster_mode')] : []),
    ...(name === '' ? [fault('sentinel_config.master_name', 'set the name of the master set')] : []),
    ...(addresses.length === 0 ? [fault(path, 'list the sentinels, as host:port')] : addressFaults(path, addresses)),
    ...(db < 0 ? [fault('sentinel_config.db', 'must be 0 or more')] : []),
  ];
}

const addressFaults = (member: string, addresses: readonly string[]): KvstoreFault[] =>
  addresses
    .filter((address) => parseHostPort(address, REDIS_PORT) === undefined)
    .map((address) => fault(member, `"${address}" is not an address: write host:port, without a scheme`));

function prefixFaults(prefix: string | undefined): KvstoreFault[] {
  const problem = prefix === undefined ? undefined : keyPrefixProblem(prefix);
  return problem === undefined ? [] : [fault('key_prefix', problem)];
}

function credentialFaults({ auth_type: type = 'aclUser', acl_user_config: user }: KvstoreConfig): KvstoreFault[] {
  const twice = (['password', 'username'] as const).filter(
    (name) => user?.[`${name}_file`] !== undefined && user[`${name}_env_var`] !== undefined,
  );
  return [
    ...(type === 'aclUser' ? [] : [fault('auth_type', 'must be aclUser')]),
    ...twice.map((name) => fault(`acl_user_config.${name}_file`, `set ${name}_file or ${name}_env_var, not both`)),
    ...(user && user.password_file === undefined && user.password_env_var === undefined
      ? [fault('acl_user_config', 'a user has a password: set password_file or password_env_var')]
      : []),
  ];
}

const timeoutFaults = (config: KvstoreConfig): KvstoreFault[] =>
  (['dial_timeout', 'read_timeout', 'write_timeout'] as const)
    .filter((member) => config[member] !== undefined && !(durationMs(config[member]) >= 1))
    .map((member) => fault(member, 'must be 1ms or more'));
