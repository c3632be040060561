import { Type, type Static } from 'typebox';
import { minimum } from '../../contract/duration.ts';
import { Closed } from '../../contract/fields.ts';
import { ATOMIC, block, duration, flag, text, texts, whole } from '../../contract/optional.ts';
import { RefName, SecretKeyRef, secretKeyRef } from '../../contract/references.ts';
import { atMostOne, exactlyOne, rule, type Rule } from '../../contract/rule.ts';
import { kvstoreConfig, type KvstoreConfig } from '../../contract/run-config/auth-server-storage.ts';
import { kvstoreFaults, kvstoreSettings } from './kvstore/settings.ts';
import { createSealer } from './sealing.ts';
import { defineStore, type StoreScope } from './variant.ts';

/** Optional TLS settings of a connection to a store, in a resource. */
export const storeTls = (description: string) =>
  block(description, {
    caCertSecretRef: secretKeyRef('PEM certificates trusted in addition to the system roots.'),
    insecureSkipVerify: flag('Do not verify the certificate. Development only.'),
  });

interface Tls {
  readonly caCertSecretRef?: unknown;
  readonly insecureSkipVerify?: boolean;
}

export const storeTlsRule = (path: string): Rule =>
  rule<Tls>(path, {
    field: 'insecureSkipVerify',
    rule: '!(has(self.caCertSecretRef) && has(self.insecureSkipVerify) && self.insecureSkipVerify)',
    message: 'set caCertSecretRef or insecureSkipVerify, not both',
    check: (self) => !(self.caCertSecretRef !== undefined && self.insecureSkipVerify === true),
  });

const timeout = (description: string, value: string) => duration(description, { default: value, maxLength: 64 });

const spec = Closed(
  {
    addr: text('Address of a single store or of a cluster, `host:port`.', { minLength: 1, maxLength: 512 }),
    clusterMode: flag('`addr` is a member of a cluster.'),
    aclUserConfig: block('User and password of the store.', {
      usernameSecretRef: secretKeyRef('User name.'),
      passwordSecretRef: SecretKeyRef('Password.'),
    }),
    dialTimeout: timeout('Timeout for opening a connection.', '5s'),
    readTimeout: timeout('Timeout for reading a response.', '3s'),
    writeTimeout: timeout('Timeout for writing a request.', '3s'),
    sentinelConfig: block('Sentinels that report the current master.', {
      masterName: Type.String({ minLength: 1, maxLength: 253, description: 'Name of the master set.' }),
      db: whole('Database number.', { default: 0, minimum: 0, maximum: 2147483647, format: 'int32' }),
      sentinelAddrs: texts('Addresses of the sentinels, `host:port`.', { minItems: 1, maxItems: 16, ...ATOMIC }),
      sentinelService: block('Service in front of the sentinels.', {
        name: RefName('Name of the Service.'),
        namespace: text('Namespace of the Service. Defaults to the namespace of this object.', { maxLength: 63 }),
        port: whole('Port of the Service.', { default: 26379, minimum: 1, maximum: 65535, format: 'int32' }),
      }),
    }),
    sentinelTls: storeTls('TLS for connections to the sentinels.'),
    tls: storeTls('TLS for connections to the store.'),
  },
  { description: 'Key-value store. Set when `type` is `kvstore`.' },
);

type Spec = Static<typeof spec>;

const rules: Rule[] = [
  exactlyOne('', 'addr', 'sentinelConfig'),
  rule<Spec>('', {
    field: 'clusterMode',
    rule: '!has(self.clusterMode) || !self.clusterMode || has(self.addr)',
    message: 'clusterMode needs addr',
    check: (self) => self.clusterMode !== true || self.addr !== undefined,
  }),
  atMostOne('sentinelConfig', 'sentinelAddrs', 'sentinelService'),
  rule<NonNullable<Spec['sentinelConfig']>>('sentinelConfig', {
    rule: 'has(self.sentinelAddrs) || has(self.sentinelService)',
    message: 'set sentinelAddrs or sentinelService',
    check: (self) => self.sentinelAddrs !== undefined || self.sentinelService !== undefined,
  }),
  storeTlsRule('tls'),
  storeTlsRule('sentinelTls'),
  minimum('', 'dialTimeout', '1ms'),
  minimum('', 'readTimeout', '1ms'),
  minimum('', 'writeTimeout', '1ms'),
];

/** Keeps records in Redis or a server that speaks its protocol: a single server, sentinels or a cluster. */
export const kvstore = defineStore({
  type: 'kvstore',
  aliases: ['redis'],
  description: 'Redis or a compatible server.',
  isShared: true,
  survivesRestart: true,
  spec,
  rules,
  config: kvstoreConfig,
  resolve: resolveKvstore,
  check: (config) =>
    kvstoreFaults(config).map(({ member, message }) => ({ reason: 'InvalidValue', path: member, message })),
  /** Loads the Redis client on first use: programs that only read configurations do not need it. */
  async create(config, { now, log, env, secrets, keyPrefix }) {
    const settings = kvstoreSettings(config, { env, keyPrefix });
    const [{ openKeyValueStore }, { kvstoreStore }] = await Promise.all([
      import('../../kvstore/open.ts'),
      import('./kvstore/store.ts'),
    ]);
    return kvstoreStore(openKeyValueStore(settings, log), createSealer(secrets), now);
  },
  async openKeyValues(config, { log, env, keyPrefix, replyTimeoutMs, db, onDenied }) {
    const settings = kvstoreSettings({ ...config, key_prefix: keyPrefix }, { env, keyPrefix });
    const { openKeyValueStore } = await import('../../kvstore/open.ts');
    const limitMs = Math.min(settings.replyTimeoutMs, replyTimeoutMs);
    return openKeyValueStore({ ...settings, replyTimeoutMs: limitMs, db: db ?? settings.db, onDenied }, log);
  },
});

function resolveKvstore(given: Spec, scope: StoreScope): KvstoreConfig {
  const { addr, clusterMode, aclUserConfig: user, tls, sentinelTls } = given;
  const sentinels = resolveSentinels(given, scope);
  return {
    ...(addr !== undefined && { addr }),
    ...(clusterMode === true && { cluster_mode: true }),
    ...(sentinels && { sentinel_config: sentinels }),
    ...(user && {
      auth_type: 'aclUser',
      acl_user_config: {
        password_file: scope.secretFile(user.passwordSecretRef),
        ...(user.usernameSecretRef && { username_file: scope.secretFile(user.usernameSecretRef) }),
      },
    }),
    ...(given.dialTimeout !== undefined && { dial_timeout: given.dialTimeout }),
    ...(given.readTimeout !== undefined && { read_timeout: given.readTimeout }),
    ...(given.writeTimeout !== undefined && { write_timeout: given.writeTimeout }),
    ...(tls && { tls: resolveTls(tls, 'tls', scope) }),
    ...(sentinelTls && { sentinel_tls: resolveTls(sentinelTls, 'sentinelTls', scope) }),
    key_prefix: `vmcp:auth:{${scope.namespace}:${scope.name}}:`,
  };
}

function resolveSentinels({ sentinelConfig }: Spec, scope: StoreScope): KvstoreConfig['sentinel_config'] {
  if (!sentinelConfig) return undefined;
  const { masterName, db, sentinelAddrs, sentinelService: service } = sentinelConfig;
  return {
    master_name: masterName,
    ...(db !== undefined && { db }),
    sentinel_addrs: service ? [serviceAddress(service, scope)] : (sentinelAddrs ?? []),
  };
}

type Service = NonNullable<NonNullable<Spec['sentinelConfig']>['sentinelService']>;

const DEFAULT_SENTINEL_PORT = 26_379;

function serviceAddress({ name, namespace, port = DEFAULT_SENTINEL_PORT }: Service, scope: StoreScope): string {
  const address = `${name}.${namespace ?? scope.namespace}.svc.cluster.local:${String(port)}`;
  if (scope.mode === 'local') {
    const message = `${address} cannot be reached from outside a cluster: list sentinelAddrs instead`;
    scope.warning({ reason: 'ClusterOnly', path: 'sentinelConfig.sentinelService', message });
  }
  return address;
}

function resolveTls(
  { caCertSecretRef: ca, insecureSkipVerify }: NonNullable<Spec['tls']>,
  path: string,
  scope: StoreScope,
) {
  if (insecureSkipVerify === true) {
    const message =
      'an attacker on the network can pose as the store: put its certificate authority into caCertSecretRef';
    scope.warning({ reason: 'UnverifiedCertificate', path: `${path}.insecureSkipVerify`, message });
  }
  return {
    ...(ca && { ca_cert_file: scope.secretFile(ca) }),
    ...(insecureSkipVerify === true && { insecure_skip_verify: true }),
  };
}
