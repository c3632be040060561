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
  const abort = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const expired = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      abort.abort();
      reject(new NoKeyring('the keyring of the operating system does not answer within 2 s'));
    }, MAX_WAIT_MS);
  });
  try {
    return await Promise.race([run(abort.signal), expired]);
  } catch (error) {
    if (error instanceof NoKeyring) throw error;
    throw new NoKeyring('this machine has no keyring that vmcp can use');
  } finally {
    clearTimeout(timer);
  }
}
