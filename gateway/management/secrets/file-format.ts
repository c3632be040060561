import { createCipheriv, createDecipheriv, type KeyObject } from 'node:crypto';

/** Secrets by their names. */
export type SecretMap = ReadonlyMap<string, string>;

/** Parameters of scrypt (RFC 7914). */
export interface Scrypt {
  readonly kind: 'scrypt';
  /** Binary logarithm of the cost N. */
  readonly log2Cost: number;
  readonly blockSize: number;
  readonly parallelism: number;
  readonly salt: Buffer;
}

/** Derivation of a key from a password. `sha256` is that of the layout without a header, which is read and never written. */
export type Derivation = Scrypt | { readonly kind: 'sha256' };

/** Parts of an encrypted file. */
export interface SecretsEnvelope {
  readonly derivation: Derivation;
  /** Authenticated together with the ciphertext. */
  readonly header: Buffer;
  readonly nonce: Buffer;
  readonly ciphertext: Buffer;
  readonly tag: Buffer;
}

const MAGIC = Buffer.from('VMCPSECR');
const VERSION = 1;
const SCRYPT_ID = 1;
export const SALT_BYTES = 16;
export const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Magic, version, identifier of the derivation, three parameters, salt. */
const HEADER_BYTES = MAGIC.length + 5 + SALT_BYTES;
const MAX_PLAINTEXT_BYTES = 32 * 1024 * 1024;
/** Maximum length of a valid file. */
export const MAX_FILE_BYTES = HEADER_BYTES + NONCE_BYTES + MAX_PLAINTEXT_BYTES + TAG_BYTES;
/** Maximum of log2(N * blockSize * parallelism). It limits the memory and the time that a damaged header can cost. */
const MAX_LOG2_WORK = 21;

/** Splits a file into its parts. The problem continues a sentence that starts with the path of the file. Pure. */
export function parseEnvelope(bytes: Buffer): SecretsEnvelope | { readonly problem: string } {
  if (!bytes.subarray(0, MAGIC.length).equals(MAGIC)) return sealedParts(bytes, 0, { kind: 'sha256' });
  const [version, derivationId, log2Cost = 0, blockSize = 0, parallelism = 0] = bytes.subarray(MAGIC.length);
  if (version !== VERSION || derivationId !== SCRYPT_ID) {
    return { problem: 'was written by another version of vmcp: use that version' };
  }
  const work = log2Cost + Math.log2(blockSize * parallelism);
  if (log2Cost < 1 || !Number.isFinite(work) || work > MAX_LOG2_WORK) return DAMAGED;
  const salt = bytes.subarray(HEADER_BYTES - SALT_BYTES, HEADER_BYTES);
  return sealedParts(bytes, HEADER_BYTES, { kind: 'scrypt', log2Cost, blockSize, parallelism, salt });
}

const DAMAGED = { problem: 'is damaged: restore it from a backup' };

function sealedParts(
  bytes: Buffer,
  headerBytes: number,
  derivation: Derivation,
): SecretsEnvelope | { problem: string } {
  if (bytes.length < headerBytes + NONCE_BYTES + TAG_BYTES) return DAMAGED;
  return {
    derivation,
    header: bytes.subarray(0, headerBytes),
    nonce: bytes.subarray(headerBytes, headerBytes + NONCE_BYTES),
    ciphertext: bytes.subarray(headerBytes + NONCE_BYTES, -TAG_BYTES),
    tag: bytes.subarray(-TAG_BYTES),
  };
}

/** Decrypts a file. Returns undefined if the key is not the right one or if the file has been changed. Pure. */
export function openEnvelope(
  { header, nonce, ciphertext, tag }: SecretsEnvelope,
  key: KeyObject,
): SecretMap | undefined {
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
    .setAAD(header)
    .setAuthTag(tag);
  try {
    const text = Buffer.concat([decipher.update(ciphertext), decipher.final()]).toString('utf8');
    return secretsOf(JSON.parse(text));
  } catch {
    return undefined; // also for text that is not JSON: the error of the parser would quote it
  }
}

function secretsOf(document: unknown): SecretMap | undefined {
  const secrets: unknown =
    typeof document === 'object' && document !== null && 'secrets' in document && document.secrets;
  if (typeof secrets !== 'object' || secrets === null) return undefined;
  const entries = Object.entries(secrets) as [string, unknown][];
  return entries.every((entry): entry is [string, string] => typeof entry[1] === 'string')
    ? new Map(entries)
    : undefined;
}

/** Encrypts secrets into a file. The nonce must be new. Returns undefined for more than 32 MiB of secrets. Pure. */
export function sealEnvelope(
  secrets: SecretMap,
  derivation: Scrypt,
  key: KeyObject,
  nonce: Buffer,
): Buffer | undefined {
  const text = Buffer.from(JSON.stringify({ secrets: Object.fromEntries(secrets) }));
  if (text.length > MAX_PLAINTEXT_BYTES) return undefined;
  const { log2Cost, blockSize, parallelism, salt } = derivation;
  const parameters = Buffer.from([VERSION, SCRYPT_ID, log2Cost, blockSize, parallelism]);
  const header = Buffer.concat([MAGIC, parameters, salt]);
  const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES }).setAAD(header);
  return Buffer.concat([header, nonce, cipher.update(text), cipher.final(), cipher.getAuthTag()]);
}
