import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

export const IV_BYTES = 12;
const TAG_BYTES = 16;

/** A text that was sealed here. */
export interface Opened {
  readonly iv: Buffer;
  readonly text: string;
}

/** Seals texts with AES-256-GCM (NIST SP 800-38D). */
export class SealedTexts {
  readonly #key: Buffer;

  /** `key` has 32 bytes. */
  constructor(key: Buffer) {
    this.#key = key;
  }

  /** Returns Base64url text. `iv` never repeats for another text or binding. */
  seal(text: string, binding: string, iv = randomBytes(IV_BYTES)): string {
    const cipher = createCipheriv('aes-256-gcm', this.#key, iv).setAAD(Buffer.from(binding));
    return Buffer.concat([iv, cipher.update(text), cipher.final(), cipher.getAuthTag()]).toString('base64url');
  }

  /** Returns undefined for a text that is altered, of another key or of another binding. */
  open(sealed: string, binding: string): Opened | undefined {
    const bytes = Buffer.from(sealed, 'base64url');
    if (bytes.length <= IV_BYTES + TAG_BYTES || bytes.toString('base64url') !== sealed) return undefined;
    const iv = bytes.subarray(0, IV_BYTES);
    const decipher = createDecipheriv('aes-256-gcm', this.#key, iv, { authTagLength: TAG_BYTES });
    decipher.setAAD(Buffer.from(binding)).setAuthTag(bytes.subarray(-TAG_BYTES));
    try {
      const text = decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
      return { iv, text };
    } catch {
      return undefined;
    }
  }
}
