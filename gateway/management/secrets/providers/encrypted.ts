import { randomBytes, timingSafeEqual } from 'node:crypto';
import { OperationError } from '../../../http/endpoint/request-error.ts';
import { EncryptedFile, type OpenedSecrets } from '../encrypted-file.ts';
import type { SecretMap } from '../file-format.ts';
import { NoKeyring, standInPassword, type Keyring } from '../password.ts';
import { SecretsFailure } from '../secrets-failure.ts';
import type { RequiredState, ListedSecret, ProviderDeps, ProviderVariant, SecretsProvider } from './provider.ts';

const GENERATED_BYTES = 32;
const NO_SECRETS: SecretMap = new Map();

/** File that a password protects. The password is in the environment of the process, else in the keyring. */
export const encrypted: ProviderVariant<'encrypted'> = {
  type: 'encrypted',
  hasFallback: true,
  create: (deps) => new EncryptedProvider(deps),
};

class EncryptedProvider implements SecretsProvider {
  readonly #file: EncryptedFile;
  readonly #env: ProviderDeps['env'];
  readonly #keyring: Keyring;

  constructor({ encryptedPath, log2Cost, env, keyring }: ProviderDeps) {
    this.#file = new EncryptedFile(encryptedPath, log2Cost);
    this.#env = env;
    this.#keyring = keyring;
  }

  setUp(requested: string | undefined): Promise<void> {
    return this.#file.exclusively(async () => {
      try {
        const standIn = await standInPassword(this.#env);
        if (standIn === undefined) await this.#setUpWithKeyring(requested);
        else await this.#setUpWithStandIn(standIn, requested);
      } catch (error) {
        throw error instanceof NoKeyring ? new OperationError('no_keyring', error.message) : error;
      }
    });
  }

  async #setUpWithStandIn(standIn: string, requested: string | undefined): Promise<void> {
    if (requested !== undefined && !isSame(requested, standIn)) throw new OperationError('password_conflict');
    const previous = (): Promise<string | undefined> => this.#keyring.read().catch(() => undefined);
    await this.#protect(standIn, previous, async () => undefined);
  }

  async #setUpWithKeyring(requested: string | undefined): Promise<void> {
    const stored = await this.#keyring.read();
    const password = requested ?? stored ?? randomBytes(GENERATED_BYTES).toString('base64url');
    await this.#protect(
      password,
      async () => stored,
      async () => {
        if (password !== stored) await this.#keyring.store(password);
      },
    );
  }

  /**
   * Makes `password` the password of the file: creates the file, verifies the password, or encrypts the file again if the
   * previous password opens it. Stores a password before it creates a file, so that no generated password is lost. Stores it
   * after it has encrypted a file again: the client has chosen that password, and can repeat the request.
   */
  async #protect(
    password: string,
    previous: () => Promise<string | undefined>,
    store: () => Promise<void>,
  ): Promise<void> {
    const present = await this.#file.open(password);
    if (present === 'absent') {
      await store();
      await this.#file.save(password, NO_SECRETS);
      return;
    }
    if (present === undefined) {
      const old = await previous();
      const opened = old === undefined ? undefined : await this.#file.open(old);
      if (typeof opened !== 'object') throw this.#notOpened();
      await this.#file.save(password, opened.secrets);
    }
    await store();
  }

  async get(name: string): Promise<string | undefined> {
    return (await this.#read()).secrets.get(name);
  }

  async list(): Promise<readonly ListedSecret[]> {
    return [...(await this.#read()).secrets.keys()].map((key) => ({ key }));
  }

  set(name: string, value: string, required: RequiredState): Promise<boolean> {
    return this.#change((secrets) => {
      if (required !== 'any' && secrets.has(name) !== (required === 'present')) return undefined;
      return new Map([...secrets, [name, value]]);
    });
  }

  delete(name: string): Promise<boolean> {
    return this.#change((secrets) =>
      secrets.has(name) ? new Map([...secrets].filter(([other]) => other !== name)) : undefined,
    );
  }

  async clear(): Promise<void> {
    await this.#change(() => NO_SECRETS);
  }

  /** Writes the secrets that `change` returns. Returns false if it returns undefined. */
  #change(change: (secrets: SecretMap) => SecretMap | undefined): Promise<boolean> {
    return this.#file.exclusively(async () => {
      const password = await this.#password();
      const { secrets, derivation } = await this.#open(password);
      const changed = change(secrets);
      if (changed === undefined) return false;
      await this.#file.save(password, changed, derivation);
      return true;
    });
  }

  /** Reads without the lock. After a failure reads again with the lock: another process may be changing the password. */
  async #read(): Promise<OpenedSecrets> {
    try {
      return await this.#open(await this.#password());
    } catch (error) {
      if (!(error instanceof SecretsFailure)) throw error;
      return this.#file.exclusively(async () => this.#open(await this.#password()));
    }
  }

  async #open(password: string): Promise<OpenedSecrets> {
    const opened = await this.#file.open(password);
    if (opened === 'absent')
      throw new SecretsFailure('broken', `${this.#file.path} is missing: restore it, or set up the provider again`);
    if (opened === undefined) throw this.#notOpened();
    return opened;
  }

  async #password(): Promise<string> {
    const password = (await standInPassword(this.#env)) ?? (await this.#keyring.read());
    if (password === undefined) {
      throw new SecretsFailure(
        'settings',
        'the keyring has no password for the secrets: set up the provider again with the password of the file',
      );
    }
    return password;
  }

  #notOpened(): SecretsFailure {
    return new SecretsFailure(
      'settings',
      `${this.#file.path} cannot be decrypted: the password is wrong, or the file is damaged; set up the provider again with the right password, or restore the file`,
    );
  }
}

function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
