import { createHash, createSecretKey, scrypt, type KeyObject } from 'node:crypto';
import type { Derivation } from './file-format.ts';

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
    this.#keys.set(id, key);
    key.catch(() => this.#keys.delete(id));
    const [oldest] = this.#keys.keys();
    if (oldest !== undefined && this.#keys.size > KEPT_KEYS) this.#keys.delete(oldest);
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
