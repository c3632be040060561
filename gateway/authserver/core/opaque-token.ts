import { createHmac, createSecretKey, hash, hkdfSync, timingSafeEqual, type KeyObject } from 'node:crypto';
import { Secret } from '../../contract/identity.ts';

/** HMAC secrets: the first one signs, all verify. The same array until they change. */
export type SecretRing = readonly [Uint8Array, ...Uint8Array[]];

/** Prefixes of opaque tokens, which secret scanners recognise. */
const PREFIXES = {
  code: 'vac_',
  refresh: 'vrt_',
  cookie: 'vck_',
} as const;

export type TokenPurpose = keyof typeof PREFIXES;

/** Purpose of a signed text. Every purpose has its own keys, so that no tag is valid for another one. */
export type TagPurpose = 'csrf' | 'consent';

/** Length of the random part of a token. */
export const RANDOM_BYTES = 32;

const TAG_LENGTH = 43;

/** Issues a token: `<prefix><random>.<HMAC of both>`, in base64url. `random`: 32 cryptographically random bytes. */
export function issueToken(purpose: TokenPurpose, random: Uint8Array, secrets: SecretRing): Secret {
  if (random.length !== RANDOM_BYTES) throw new RangeError(`a token needs ${RANDOM_BYTES} random bytes`);
  const body = `${PREFIXES[purpose]}${Buffer.from(random).toString('base64url')}`;
  return new Secret(`${body}.${tagBy(keysFor(purpose, secrets)[0], body)}`);
}

/** Returns true when this server issued the token for this purpose. Rejects forged tokens without reading the store. */
export function isGenuine(purpose: TokenPurpose, token: string, secrets: SecretRing): boolean {
  const prefix = PREFIXES[purpose];
  if (token.length !== prefix.length + 2 * TAG_LENGTH + 1 || !token.startsWith(prefix)) return false;
  const dot = token.length - TAG_LENGTH - 1;
  return token[dot] === '.' && matches(keysFor(purpose, secrets), token.slice(0, dot), token.slice(dot + 1));
}

/** Returns the HMAC of a text with the current secret, in base64url. */
export const tagOf = (purpose: TagPurpose, text: string, secrets: SecretRing): string =>
  tagBy(keysFor(purpose, secrets)[0], text);

/** Returns true when `tag` is the HMAC of this text and purpose with any of the secrets. */
export const hasTag = (purpose: TagPurpose, text: string, tag: string, secrets: SecretRing): boolean =>
  matches(keysFor(purpose, secrets), text, tag);

/** Returns the key for storing a token. The token cannot be derived from it. */
export const storageKeyOf = (token: string): string => hash('sha256', token, 'hex');

/** Returns a short hash that identifies a token in logs. */
export const fingerprintOf = (token: string): string => storageKeyOf(token).slice(0, 8);

/** Key objects: an HMAC with one costs a fifth of one with bytes. */
type Keys = readonly [KeyObject, ...KeyObject[]];

const derived = new WeakMap<SecretRing, Map<TokenPurpose | TagPurpose, Keys>>();

/** Derives one key per secret for the purpose. @see RFC 5869 */
function keysFor(purpose: TokenPurpose | TagPurpose, secrets: SecretRing): Keys {
  let byPurpose = derived.get(secrets);
  if (!byPurpose) {
    byPurpose = new Map();
    derived.set(secrets, byPurpose);
  }
  let keys = byPurpose.get(purpose);
  if (!keys) {
    const [current, ...older] = secrets;
    keys = [derive(current, purpose), ...older.map((secret) => derive(secret, purpose))];
    byPurpose.set(purpose, keys);
  }
  return keys;
}

const derive = (secret: Uint8Array, purpose: string): KeyObject =>
  createSecretKey(new Uint8Array(hkdfSync('sha256', secret, new Uint8Array(0), purpose, 32)));

const tagBy = (key: KeyObject, text: string): string => createHmac('sha256', key).update(text).digest('base64url');

/** Compares tags as text, which rejects a second base64url spelling of the same bytes. */
function matches(keys: Keys, text: string, tag: string): boolean {
  const presented = Buffer.from(tag);
  if (presented.length !== TAG_LENGTH) return false;
  return keys.some((key) => timingSafeEqual(Buffer.from(tagBy(key, text)), presented));
}
