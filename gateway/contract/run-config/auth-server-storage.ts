import { Type, type Static } from 'typebox';
import { Closed } from '../fields.ts';
import { block, duration, flag, text, texts, whole } from '../optional.ts';

/** Optional TLS settings of a connection to a store. */
export const tls = (description: string) =>
  block(
    description,
    {
      ca_cert_file: text('PEM certificates trusted in addition to the system roots.'),
      insecure_skip_verify: flag('Do not verify the certificate. Development only.'),
    },
    { title: 'StoreTls' },
  );

export const kvstoreConfig = Closed(
  {
    addr: text('host:port of a single store or of a member of a cluster; without sentinels.'),
    cluster_mode: flag('`addr` is a member of a cluster.'),
    acl_user_config: block('User and password of the store.', {
      password_env_var: text('Environment variable that holds the password.'),
      username_env_var: text('Environment variable that holds the user name.'),
      password_file: text('Path of the file that holds the password.'),
      username_file: text('Path of the file that holds the user name.'),
    }),
    auth_type: text('`aclUser`.'),
    dial_timeout: duration('Timeout for opening a connection.'),
    read_timeout: duration('Timeout for reading a response.'),
    write_timeout: duration('Timeout for writing a request.'),
    key_prefix: text('Prefix of every key.'),
    sentinel_config: block('Sentinels that report the current master.', {
      db: whole('Database number.'),
      master_name: text('Name of the master set.'),
      sentinel_addrs: texts('Addresses of the sentinels, `host:port`.'),
    }),
    sentinel_tls: tls('TLS for connections to the sentinels.'),
    tls: tls('TLS for connections to the store.'),
  },
  { description: 'The key-value store.' },
);

/** Members that every store has. */
export const storageMembers = {
  type: text('`memory` (lost on restart) or `kvstore`.'),
  max_dcr_clients: whole('Maximum number of registered clients. Defaults to 10000; 0 means no limit.', { minimum: 0 }),
};

const members = { ...storageMembers, kvstore_config: Type.Optional(kvstoreConfig) };
const options = { description: 'Storage of sessions, codes and upstream tokens.' };
const storageConfig = Closed(members, options);

export const storage = Type.Optional(storageConfig);

/** `storage` of a gateway. Other stores have members of their own, which the registry of stores checks. */
export const openStorage = Type.Optional(
  Type.Unsafe<StorageConfig>(Type.Object(members, { additionalProperties: true, ...options })),
);

export type StorageConfig = Static<typeof storageConfig>;
export type KvstoreConfig = Static<typeof kvstoreConfig>;
