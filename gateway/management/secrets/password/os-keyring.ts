import { withinTime } from '../time-limit.ts';
import { NoKeyring, type Keyring } from './keyring.ts';

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
