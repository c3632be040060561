import { describe, expect, it } from 'vitest';
import type { ConnectOnePassword } from '../one-password-sdk.ts';
import { SecretsFailure } from '../secrets-failure.ts';
import { absentKeyring, fakeOnePassword, TOKEN } from '../testdata/fakes.ts';
import { onePassword } from './one-password.ts';

const REFERENCE = 'op://vault/item/field';

const provider = (connectOnePassword: ConnectOnePassword, token?: string) =>
  onePassword.create({
    encryptedPath: '/not/used',
    env: { OP_SERVICE_ACCOUNT_TOKEN: token },
    keyring: absentKeyring,
    connectOnePassword,
  });

describe('the provider 1password', () => {
  it('needs a token', async () => {
    await expect(provider(fakeOnePassword({})).setUp(undefined)).rejects.toThrow('OP_SERVICE_ACCOUNT_TOKEN is not set');
  });

  it('rejects a wrong token without quoting it', async () => {
    const thrown: unknown = await provider(fakeOnePassword({}), 'ops_canary')
      .setUp(undefined)
      .catch((error: unknown) => error);
    expect(thrown).toBeInstanceOf(SecretsFailure);
    expect((thrown as Error).message).toContain('check OP_SERVICE_ACCOUNT_TOKEN');
    expect(`${(thrown as Error).stack ?? ''}${String((thrown as Error).cause)}`).not.toContain('canary');
  });

  it('connects once, and again after a failure', async () => {
    let connections = 0;
    let isBroken = false;
    const tested = provider(async (token) => {
      connections += 1;
      const connection = await fakeOnePassword({ [REFERENCE]: 'value' })(token);
      return {
        ...connection,
        resolve: async (reference) => {
          if (isBroken) throw new Error('connection lost');
          return connection.resolve(reference);
        },
      };
    }, TOKEN);
    await tested.get(REFERENCE);
    await tested.get(REFERENCE);
    expect(connections).toBe(1);
    isBroken = true;
    await expect(tested.get(REFERENCE)).rejects.toThrow(SecretsFailure);
    isBroken = false;
    expect(await tested.get(REFERENCE)).toBe('value');
    expect(connections).toBe(2);
  });

  it('asks 1Password for references only', async () => {
    const tested = provider(async () => Promise.reject(new Error('not reachable')), TOKEN);
    expect(await tested.get('github')).toBeUndefined();
  });
});
