import { Type } from 'typebox';
import { block, flag, text, whole } from '../../gateway/contract/optional.ts';
import { secretKeyRef } from '../../gateway/contract/references.ts';
import { at, rule, type Rule } from '../../gateway/contract/rule.ts';

/** `kvstore` and its alias. */
export const KVSTORE_TYPES = ['kvstore', 'redis'] as const;

export const isKvstore = (type: string | undefined): boolean => type === 'kvstore' || type === 'redis';

export const kvstoreCel = (member: string): string => `self.${member} in ['kvstore', 'redis']`;

/** TLS to a key-value store. */
export const kvstoreTls = (description: string) =>
  block(description, {
    caCertSecretRef: secretKeyRef('PEM bundle trusted beside the system roots.'),
    insecureSkipVerify: flag('Do not verify the certificate. Development only.'),
  });

interface Tls {
  readonly caCertSecretRef?: unknown;
  readonly insecureSkipVerify?: boolean;
}

export const kvstoreTlsRule = (path: string): Rule =>
  rule<Tls>(path, {
    field: 'insecureSkipVerify',
    rule: '!(has(self.caCertSecretRef) && has(self.insecureSkipVerify) && self.insecureSkipVerify)',
    message: 'set caCertSecretRef or insecureSkipVerify, not both',
    check: (self) => !(self.caCertSecretRef !== undefined && self.insecureSkipVerify === true),
  });

/** Where MCP sessions are kept. */
export const sessionStorage = () =>
  block('Where MCP sessions are kept; in memory when absent.', {
    provider: Type.Enum(['memory', ...KVSTORE_TYPES], {
      description: '`memory` (one replica) or `kvstore`; `redis` is an alias of `kvstore`.',
    }),
    address: text('host:port of the store.', { minLength: 1, maxLength: 512 }),
    db: whole('Database number.', { default: 0, minimum: 0, maximum: 2147483647, format: 'int32' }),
    keyPrefix: text('Put before every key; ends with `:`.', { maxLength: 253 }),
    passwordRef: secretKeyRef('Password of the store.'),
    tls: kvstoreTls('TLS to the store; `{}` trusts the system roots, absent means none.'),
  });

interface Storage {
  readonly provider: string;
  readonly address?: string;
  readonly tls?: unknown;
}

export const sessionStorageRules = (path: string): Rule[] =>
  at(path, [
    rule<Storage>('', {
      field: 'address',
      rule: `!(${kvstoreCel('provider')}) || has(self.address)`,
      message: 'address is required when provider is kvstore',
      check: (self) => !isKvstore(self.provider) || self.address !== undefined,
    }),
    rule<Storage>('', {
      field: 'tls',
      rule: `!has(self.tls) || ${kvstoreCel('provider')}`,
      message: 'set tls only if provider is kvstore',
      check: (self) => self.tls === undefined || isKvstore(self.provider),
    }),
    kvstoreTlsRule('tls'),
  ]);
