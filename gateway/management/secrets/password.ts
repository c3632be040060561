import { readFile } from 'node:fs/promises';
import type { Environment } from '../../workloads/runner/environment.ts';
import { SecretsFailure } from './secrets-failure.ts';
import { withinTime } from '../../kit/time.ts';

/**
 * Returns the password that the environment gives in place of a keyring. Reads its file at each call.
 * @throws SecretsFailure for a file that has no password
 */
export async function standInPassword(env: Environment): Promise<string | undefined> {
  const { VMCP_SECRETS_PASSWORD: password, VMCP_SECRETS_PASSWORD_FILE: path } = env;
  if (password) return password;
  if (!path) return undefined;
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    throw new SecretsFailure(
      'settings',
      `VMCP_SECRETS_PASSWORD_FILE: ${path} cannot be read (${code}): correct the path`,
    );
  });
  const content = text.replace(/\r?\n$/u, '');
  if (content === '')
    throw new SecretsFailure('settings', `VMCP_SECRETS_PASSWORD_FILE: ${path} is empty: write the password to it`);
  return content;
}

/** Place for the password of the encrypted file, such as the keychain of macOS. */
export interface Keyring {
  /** Returns undefined if the keyring has no password. @throws NoKeyring */
  read(): Promise<string | undefined>;
  /** @throws NoKeyring */
  store(password: string): Promise<void>;
}

/** The machine has no keyring that works. */
export class NoKeyring extends Error {
  constructor(what: string) {
    super(
      `${what}: set VMCP_SECRETS_PASSWORD_FILE to a file with the password, or VMCP_SECRETS_PASSWORD to the password, and start vmcp again`,
    );
    this.name = 'NoKeyring';
  }
}

const SERVICE = 'vmcp';
/** A keyring that waits for the user to unlock it counts as absent. */
const MAX_WAIT_MS = 2_000;

/**
 * Keyring of the operating system: Keychain on macOS, Credential Manager on Windows, the Secret Service on Linux. The kernel
 * keyring of Linux is not used: it forgets passwords when the machine restarts.
 * @param account distinguishes the passwords of several state folders
 */
export function osKeyring(account: string): Keyring {
  const entry = async () => {
    const { AsyncEntry } = await import('@napi-rs/keyring'); // native: the image and rare platforms do not have it
    return new AsyncEntry(SERVICE, account, { linux: { store: 'secret-service' } });
  };
  return {
    read: () => inTime(async (signal) => (await (await entry()).getPassword(signal)) ?? undefined),
    store: (password) => inTime(async (signal) => (await entry()).setPassword(password, signal)),
  };
}

async function inTime<Result>(run: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
  try {
    return await withinTime(
      MAX_WAIT_MS,
      run,
      () => new NoKeyring('the keyring of this machine does not answer within 2 s'),
    );
  } catch (error) {
    throw error instanceof NoKeyring ? error : new NoKeyring('this machine has no keyring that vmcp can use');
  }
}
