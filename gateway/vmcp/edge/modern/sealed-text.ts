import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

export const IV_BYTES = 12;
const TAG_BYTES = 16;

/** A text that was sealed here. */
export interface Opened {
  readonly iv: Buffer;
  readonly text: string;
}

/** Derives a key of 32 bytes by HKDF (RFC 5869). */
const derivedKey = (secret: Buffer, use: string): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, '', `vmcp ${use}`, 32));

/** Returns secrets of 32 bytes, newest first. The same buffers as long as they do not change. */
export type SealingSecrets = () => readonly Buffer[];

/** Keys that are derived from secrets for one use. */
export class DerivedKeys {
  readonly #secrets: SealingSecrets;
  readonly #use: string;
  readonly #derived = new WeakMap<Buffer, Buffer>();

  constructor(secrets: SealingSecrets, use: string) {
    this.#secrets = secrets;
    this.#use = use;
  }

  /** Newest first. */
  get all(): readonly Buffer[] {
    return this.#secrets().map((secret) => {
      let key = this.#derived.get(secret);
      if (!key) this.#derived.set(secret, (key = derivedKey(secret, this.#use)));
      return key;
    });
  }

  /** Throws when there is no secret yet. */
  get newest(): Buffer {
    const [key] = this.all;
    if (!key) throw new Error('there is no secret yet');
    return key;
  }
}

/** Seals texts with AES-256-GCM (NIST SP 800-38D). */
export class SealedTexts {
  readonly #keys: DerivedKeys;

  constructor(secrets: SealingSecrets, use: string) {
    this.#keys = new DerivedKeys(secrets, use);
  }

  /** Returns Base64url text. `iv` never repeats for another text or binding. */
  seal(text: string, binding: string, iv = randomBytes(IV_BYTES)): string {
    const cipher = createCipheriv('aes-256-gcm', this.#keys.newest, iv).setAAD(Buffer.from(binding));
    return Buffer.concat([iv, cipher.update(text), cipher.final(), cipher.getAuthTag()]).toString('base64url');
  }

  /** Returns undefined for a text that is altered, of another key or of another binding. */
  open(sealed: string, binding: string): Opened | undefined {
    const bytes = Buffer.from(sealed, 'base64url');
    if (bytes.length <= IV_BYTES + TAG_BYTES || bytes.toString('base64url') !== sealed) return undefined;
    for (const key of this.#keys.all) {
      const opened = openWith(key, bytes, binding);
      if (opened) return opened;
    }
    return undefined;
  }
}

function openWith(key: Buffer, bytes: Buffer, binding: string): Opened | undefined {
  const iv = bytes.subarray(0, IV_BYTES);
  const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(binding)).setAuthTag(bytes.subarray(-TAG_BYTES));
  try {
    const text = decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
    return { iv, text };
  } catch {
    return undefined;
  }
}
