import { describe, expect, it } from 'vitest';
import { ownServiceAccount } from './operator.ts';

const bearer = (claims: unknown): string =>
  `Bearer e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.signature`;
const account = { namespace: 'vmcp-system', serviceaccount: { name: 'vmcp-operator', uid: 'u-1' } };

describe('ownServiceAccount', () => {
  it('reads the account from the token of a pod', () => {
    expect(ownServiceAccount(bearer({ 'kubernetes.io': account }), 'vmcp-system')).toEqual({
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      name: 'vmcp-operator',
      uid: 'u-1',
    });
  });

  it.each([
    ['nothing', undefined],
    ['a password', 'Basic dXNlcjpwYXNz'],
    ['an opaque token', 'Bearer opaque'],
    ['invalid JSON', 'Bearer e30.e30x.signature'],
    ['a token without a ServiceAccount', bearer({ sub: 'ann' })],
    ['an account of another namespace', bearer({ 'kubernetes.io': { ...account, namespace: 'other' } })],
  ])('returns undefined for %s', (_what, authorization) => {
    expect(ownServiceAccount(authorization, 'vmcp-system')).toBeUndefined();
  });
});
