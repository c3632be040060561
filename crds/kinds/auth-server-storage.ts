import { Type } from 'typebox';
import { ATOMIC, block, duration, flag, text, texts, whole } from '../../gateway/contract/optional.ts';
import { RefName, SecretKeyRef, secretKeyRef } from '../../gateway/contract/references.ts';
import { at, atMostOne, exactlyOne, rule, type Rule } from '../../gateway/contract/rule.ts';
import { minimum } from '../../gateway/contract/duration-rules.ts';
import { isKvstore, kvstoreCel, kvstoreTls, kvstoreTlsRule, KVSTORE_TYPES } from './session-storage.ts';

const timeout = (description: string, value: string) => duration(description, { default: value, maxLength: 64 });

/** `authServerConfig.storage`. */
export const storage = block('Where sessions, codes and upstream tokens are kept.', {
  type: Type.Optional(
    Type.Enum(['memory', ...KVSTORE_TYPES], {
      default: 'memory',
      description: '`memory` (lost on restart) or `kvstore`; `redis` is an alias of `kvstore`.',
    }),
  ),
  maxDCRClients: whole('Registered clients at once; 10000 when absent, 0 for no limit.', {
    minimum: 0,
    maximum: 2147483647,
    format: 'int32',
  }),
  kvstore: block('The key-value store; set when `type` is `kvstore`.', {
    addr: text('host:port of a single store or of a cluster.', { minLength: 1, maxLength: 512 }),
    clusterMode: flag('`addr` is a member of a cluster.'),
    aclUserConfig: block('User and password of the store.', {
      usernameSecretRef: secretKeyRef('User name.'),
      passwordSecretRef: SecretKeyRef('Password.'),
    }),
    dialTimeout: timeout('Longest wait for a connection.', '5s'),
    readTimeout: timeout('Longest wait for an answer.', '3s'),
    writeTimeout: timeout('Longest wait for a write.', '3s'),
    sentinelConfig: block('Sentinels that name the current master.', {
      masterName: Type.String({ minLength: 1, maxLength: 253, description: 'Name of the master set.' }),
      db: whole('Database number.', { default: 0, minimum: 0, maximum: 2147483647, format: 'int32' }),
      sentinelAddrs: texts('host:port of each sentinel.', { minItems: 1, maxItems: 16, ...ATOMIC }),
      sentinelService: block('A Service in front of the sentinels.', {
        name: RefName('Name of the Service.'),
        namespace: text('Namespace of the Service; that of this object when absent.', { maxLength: 63 }),
        port: whole('Port of the Service.', { default: 26379, minimum: 1, maximum: 65535, format: 'int32' }),
      }),
    }),
    sentinelTls: kvstoreTls('TLS to the sentinels.'),
    tls: kvstoreTls('TLS to the store.'),
  }),
});

interface Kvstore {
  readonly addr?: string;
  readonly clusterMode?: boolean;
}

/** Rules of `authServerConfig.storage`. */
export const storageRules: Rule[] = [
  rule<{ readonly type: string; readonly kvstore?: unknown }>('', {
    field: 'kvstore',
    rule: `(${kvstoreCel('type')}) == has(self.kvstore)`,
    message: 'set kvstore if and only if type is kvstore',
    check: (self) => isKvstore(self.type) === (self.kvstore !== undefined),
  }),
  ...at('kvstore', [
    exactlyOne('', 'addr', 'sentinelConfig'),
    rule<Kvstore>('', {
      field: 'clusterMode',
      rule: '!has(self.clusterMode) || !self.clusterMode || has(self.addr)',
      message: 'clusterMode needs addr',
      check: (self) => self.clusterMode !== true || self.addr !== undefined,
    }),
    atMostOne('sentinelConfig', 'sentinelAddrs', 'sentinelService'),
    rule<{ sentinelAddrs?: unknown; sentinelService?: unknown }>('sentinelConfig', {
      rule: 'has(self.sentinelAddrs) || has(self.sentinelService)',
      message: 'set sentinelAddrs or sentinelService',
      check: (self) => self.sentinelAddrs !== undefined || self.sentinelService !== undefined,
    }),
    kvstoreTlsRule('tls'),
    kvstoreTlsRule('sentinelTls'),
    minimum('', 'dialTimeout', '1ms'),
    minimum('', 'readTimeout', '1ms'),
    minimum('', 'writeTimeout', '1ms'),
  ]),
];
