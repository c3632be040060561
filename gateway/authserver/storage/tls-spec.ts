import { block, flag } from '../../contract/optional.ts';
import { secretKeyRef } from '../../contract/references.ts';
import { rule, type Rule } from '../../contract/rule.ts';

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
