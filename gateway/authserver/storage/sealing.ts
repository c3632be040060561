import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';
import { randomPool } from '../keys/random-pool.ts';

/** Encrypts text for storage outside of the process. Text sealed under a key name opens under that name only. */
export interface Sealer {
  seal(keyName: string, text: string | Uint8Array): string;
  /**
   * Returns undefined for text that was sealed by an unknown secret or under another name, and for text that differs in any
   * character from what `seal` returned.
   */
  open(keyName: string, sealed: string): string | undefined;
  openBytes(keyName: string, sealed: string): Uint8Array | undefined;
}

const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_ID_BYTES = 6;

interface Key {
  /** Prefix of the texts that this key sealed. */
  readonly id: string;
  /** Key object: creating a cipher from it costs a third of creating one from bytes. */
  readonly key: KeyObject;
}

const derive = (secret: Uint8Array, label: string, bytes: number): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, '', label, bytes));

const keyOf = (secret: Uint8Array): Key => ({
  id: derive(secret, 'seal-key-id', KEY_ID_BYTES).toString('base64url'),
  key: createSecretKey(derive(secret, 'seal', 32)),
});

/**
 * Creates a sealer: AES-256-GCM with the key name as additional data, written `<key id>.<base64url of nonce, text, tag>`.
 * @param secrets returns the current HMAC secrets: the first one seals, all open. The same array until they change.
 */
export function createSealer(secrets: () => readonly Uint8Array[]): Sealer {
  let source: readonly Uint8Array[] | undefined;
  let keys: readonly Key[] = [];
  const random = randomPool();
  const current = (): readonly Key[] => {
    const now = secrets();
    if (now !== source) {
      keys = now.map(keyOf);
      source = now;
    }
    return keys;
  };

  const openBytes = (keyName: string, sealed: string): Buffer | undefined => {
    const dot = sealed.indexOf('.');
    const key = current().find(({ id }) => id === sealed.slice(0, Math.max(dot, 0)));
    if (!key) return undefined;
    const text = sealed.slice(dot + 1);
    const body = Buffer.from(text, 'base64url');
    // Node accepts several spellings of the same bytes, but a sealed text may be an identifier.
    return body.toString('base64url') === text ? decrypt(key.key, keyName, body) : undefined;
  };

  return {
    seal(keyName, text) {
      const [first] = current();
      if (!first) throw new Error('there is no secret to seal with');
      const nonce = random(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', first.key, nonce).setAAD(Buffer.from(keyName));
      const body = Buffer.concat([nonce, cipher.update(bytesOf(text)), cipher.final(), cipher.getAuthTag()]);
      return `${first.id}.${body.toString('base64url')}`;
    },
    open: (keyName, sealed) => openBytes(keyName, sealed)?.toString('utf8'),
    openBytes,
  };
}

const bytesOf = (text: string | Uint8Array): Uint8Array => (typeof text === 'string' ? Buffer.from(text) : text);

function decrypt(key: KeyObject, keyName: string, body: Buffer): Buffer | undefined {
  if (body.length < NONCE_BYTES + TAG_BYTES) return undefined;
  const decipher = createDecipheriv('aes-256-gcm', key, body.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
    .setAAD(Buffer.from(keyName))
    .setAuthTag(body.subarray(-TAG_BYTES));
  try {
    return Buffer.concat([decipher.update(body.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
  } catch {
    return undefined;
  }
}
