import { randomBytes } from 'node:crypto';
import { mkdir, readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { writeDurably } from '../../../state/state-file.ts';
import { SecretsFailure } from '../secrets-failure.ts';
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
import { FileLock } from './file-lock.ts';
import { KeyDeriver } from './key-deriver.ts';

/** Decrypted content of the file. */
export interface Opened {
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
  async open(password: string): Promise<Opened | 'absent' | undefined> {
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
    await writeDurably(this.path, bytes);
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
