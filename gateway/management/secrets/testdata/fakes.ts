import type { ConnectOnePassword } from '../one-password-sdk.ts';
import { NoKeyring, type Keyring } from '../password.ts';

/** Keyring in memory. */
interface FakeKeyring extends Keyring {
  password: string | undefined;
}

export function fakeKeyring(password?: string): FakeKeyring {
  const keyring: FakeKeyring = {
    password,
    read: async () => keyring.password,
    store: async (stored) => {
      keyring.password = stored;
    },
  };
  return keyring;
}

const fail = async (): Promise<never> => {
  throw new NoKeyring('this machine has no keyring');
};

/** Keyring of a machine without one. */
export const absentKeyring: Keyring = { read: fail, store: fail };

/** Token that `fakeOnePassword` accepts. */
export const TOKEN = 'ops_token-of-the-test';

/** 1Password with these fields, by their references. */
export const fakeOnePassword =
  (fields: Readonly<Record<string, string>>): ConnectOnePassword =>
  async (token) => {
    if (token !== TOKEN) throw new Error(`invalid token ${token}`);
    return {
      resolve: async (reference) => fields[reference],
      fields: async () => Object.keys(fields).map((reference) => ({ reference, description: `field ${reference}` })),
    };
  };
