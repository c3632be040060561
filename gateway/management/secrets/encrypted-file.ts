import { createHash, createSecretKey, randomBytes, scrypt, type KeyObject } from 'node:crypto';
import { mkdir, readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { tryLock } from '../../workloads/runner/process/process-lock.ts';
import {
  MAX_FILE_BYTES,
  NONCE_BYTES,
  openEnvelope,
  parseEnvelope,
  SALT_BYTES,
  sealEnvelope,
  type Derivation,
  type Scrypt,
  type SecretMap,
} from './file-format.ts';
import { SecretsFailure } from './secrets-failure.ts';
import { setNewest } from '../../kit/cache.ts';
import { SerialQueue } from '../../kit/tasks.ts';
import { replaceFile } from '../../kit/files.ts';

/** Decrypted content of the file. */
export interface OpenedSecrets {
  readonly secrets: SecretMap;
  readonly derivation: Derivation;
}

/** Binary logarithm of scrypt's cost for new files: 32 MiB and about 80 ms. */
const LOG2_COST = 15;

/** File of encrypted secrets. Readers see the old or the new content. */
export class EncryptedFile {
  readonly path: string;
  readonly #log2Cost: number;
  readonly #keys = new KeyDeriver();
  readonly #lock: FileLock;

  constructor(path: string, log2Cost: number = LOG2_COST) {
    this.path = path;
    this.#log2Cost = log2Cost;
    this.#lock = new FileLock(`${path}.lock`);
  }

  /** Runs a change while no other change runs, in this process or another. @throws SecretsFailure */
  async exclusively<Result>(run: () => Promise<Result>): Promise<Result> {
    try {
      await mkdir(dirname(this.path), { recursive: true, mode: 0o700 });
      return await this.#lock.hold(run);
    } catch (error) {
      const code = systemCode(error);
      if (code === undefined) throw error;
      throw new SecretsFailure(
        'broken',
        `${this.path} cannot be changed (${code}): check the disk and the permissions of its folder`,
        error,
      );
    }
  }

  /** Decrypts the file. Returns undefined for a wrong password. @throws SecretsFailure, also for a file with another format */
  async open(password: string): Promise<OpenedSecrets | 'absent' | undefined> {
    const bytes = await this.#bytes();
    if (bytes === undefined) return 'absent';
    const envelope = parseEnvelope(bytes);
    if ('problem' in envelope) throw new SecretsFailure('broken', `${this.path} ${envelope.problem}`);
    const secrets = openEnvelope(envelope, await this.#keys.keyOf(password, envelope.derivation));
    return secrets && { secrets, derivation: envelope.derivation };
  }

  /** Replaces the content. `known` is the key derivation of the present file, for the same password. @throws SecretsFailure */
  async save(password: string, secrets: SecretMap, known?: Derivation): Promise<void> {
    const derivation = known?.kind === 'scrypt' ? known : this.#newDerivation();
    const key = await this.#keys.keyOf(password, derivation);
    const bytes = sealEnvelope(secrets, derivation, key, randomBytes(NONCE_BYTES));
    if (bytes === undefined)
      throw new SecretsFailure('broken', `${this.path} cannot hold more than 32 MiB: delete some secrets`);
    await replaceFile(this.path, bytes);
  }

  #newDerivation(): Scrypt {
    return { kind: 'scrypt', log2Cost: this.#log2Cost, blockSize: 8, parallelism: 1, salt: randomBytes(SALT_BYTES) };
  }

  async #bytes(): Promise<Buffer | undefined> {
    try {
      if ((await stat(this.path)).size > MAX_FILE_BYTES) {
        throw new SecretsFailure(
          'broken',
          `${this.path} is longer than a file of secrets can be: restore it from a backup`,
        );
      }
      return await readFile(this.path);
    } catch (error) {
      const code = systemCode(error);
      if (code === 'ENOENT') return undefined;
      if (code === undefined) throw error;
      throw new SecretsFailure('broken', `${this.path} cannot be read (${code}): check its permissions`);
    }
  }
}

/** Returns the code of an error of the system, such as ENOSPC; undefined for other errors. */
const systemCode = (error: unknown): string | undefined =>
  error instanceof Error && 'syscall' in error ? (error as NodeJS.ErrnoException).code : undefined;

const RETRY_MS = 20;
/** Maximum wait for the lock. No change takes that long, even on a busy machine. */
const MAX_WAIT_MS = 10_000;

/** Lets one change at a time run, in this process and in others that use the same lock file. */
class FileLock {
  readonly #path: string;
  /** Changes of this process. */
  readonly #queue = new SerialQueue();

  constructor(path: string) {
    this.#path = path;
  }

  /** Runs a change while it holds the lock. @throws SecretsFailure if another process does not release the lock in time */
  hold<Result>(run: () => Promise<Result>): Promise<Result> {
    return this.#queue.run(async () => {
      const release = await this.#take();
      try {
        return await run();
      } finally {
        release();
      }
    });
  }

  async #take(): Promise<() => void> {
    const deadline = performance.now() + MAX_WAIT_MS;
    for (;;) {
      const attempt = tryLock(this.#path);
      if (attempt.held) return attempt.release;
      if (performance.now() > deadline) {
        const holder = String(attempt.holder.pid);
        throw new SecretsFailure(
          'unavailable',
          `the lock ${this.#path} is held by process ${holder}: wait until it is done, or stop it`,
        );
      }
      await sleep(RETRY_MS);
    }
  }
}

/** Maximum number of cached keys. A process uses one key, and two while it changes the password. */
const KEPT_KEYS = 4;

/** Derives keys from passwords. Caches the last few keys, because scrypt is slow on purpose. */
export class KeyDeriver {
  readonly #keys = new Map<string, Promise<KeyObject>>();

  keyOf(password: string, derivation: Derivation): Promise<KeyObject> {
    const id = createHash('sha256')
      .update(JSON.stringify([derivation, password]))
      .digest('base64');
    const known = this.#keys.get(id);
    if (known) return known;
    const key = derive(password, derivation);
    setNewest(this.#keys, id, key, KEPT_KEYS);
    key.catch(() => this.#keys.delete(id));
    return key;
  }
}

async function derive(password: string, derivation: Derivation): Promise<KeyObject> {
  if (derivation.kind === 'sha256') return createSecretKey(createHash('sha256').update(password).digest());
  const { salt, log2Cost, blockSize, parallelism } = derivation;
  const cost = 2 ** log2Cost;
  const maxmem = 256 * blockSize * (cost + parallelism);
  return new Promise((resolve, reject) => {
    scrypt(password, salt, 32, { cost, blockSize, parallelization: parallelism, maxmem }, (error, key) => {
      if (error) reject(error);
      else resolve(createSecretKey(key));
    });
  });
}
