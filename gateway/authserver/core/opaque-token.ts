import { createHmac, createSecretKey, hash, hkdfSync, timingSafeEqual, type KeyObject } from 'node:crypto';
import { Secret } from '../../contract/identity.ts';

/** HMAC secrets: the current one first, the others verify only. One object until they change. */
export type SecretRing = readonly [Uint8Array, ...Uint8Array[]];

/** Kinds of opaque tokens, and the prefix by which secret scanners know them. */
const PREFIXES = {
  code: 'vac_',
  refresh: 'vrt_',
  cookie: 'vck_',
} as const;

export type TokenPurpose = keyof typeof PREFIXES;

/** What a text is signed for. Every purpose has keys of its own, so that no tag is good for another one. */
export type TagPurpose = 'csrf' | 'consent';

/** Length of the random part of a token. */
export const RANDOM_BYTES = 32;

const TAG_LENGTH = 43;

/** `<prefix><random>.<HMAC of both>`, in base64url. `random`: 32 bytes that nobody can guess. */
export function issueToken(purpose: TokenPurpose, random: Uint8Array, secrets: SecretRing): Secret {
  if (random.length !== RANDOM_BYTES) throw new RangeError(`a token needs ${RANDOM_BYTES} random bytes`);
  const body = `${PREFIXES[purpose]}${Buffer.from(random).toString('base64url')}`;
  return new Secret(`${body}.${tagBy(keysFor(purpose, secrets)[0], body)}`);
}

/** Whether this server issued the token for this purpose. Tells junk without a look at the storage. */
export function isGenuine(purpose: TokenPurpose, token: string, secrets: SecretRing): boolean {
  const prefix = PREFIXES[purpose];
  if (token.length !== prefix.length + 2 * TAG_LENGTH + 1 || !token.startsWith(prefix)) return false;
  const dot = token.length - TAG_LENGTH - 1;
  return token[dot] === '.' && matches(keysFor(purpose, secrets), token.slice(0, dot), token.slice(dot + 1));
}

/** HMAC of a text by the current secret, in base64url. */
export const tagOf = (purpose: TagPurpose, text: string, secrets: SecretRing): string =>
  tagBy(keysFor(purpose, secrets)[0], text);

/** Whether `tag` is of this text and purpose, by any of the secrets. */
export const hasTag = (purpose: TagPurpose, text: string, tag: string, secrets: SecretRing): boolean =>
  matches(keysFor(purpose, secrets), text, tag);

/** Under which a token is stored: nobody can make the token from it. */
export const storageKeyOf = (token: string): string => hash('sha256', token, 'hex');

/** By which a log may name a token. */
export const fingerprintOf = (token: string): string => storageKeyOf(token).slice(0, 8);

/** Key objects: an HMAC by one costs a fifth of one by bytes. */
type Keys = readonly [KeyObject, ...KeyObject[]];

const derived = new WeakMap<SecretRing, Map<TokenPurpose | TagPurpose, Keys>>();

/** One key per secret, derived for the purpose. @see RFC 5869 */
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

/** Compares the text of tags, so that a second base64url spelling of the same bytes is no tag. */
function matches(keys: Keys, text: string, tag: string): boolean {
  const presented = Buffer.from(tag);
  if (presented.length !== TAG_LENGTH) return false;
  return keys.some((key) => timingSafeEqual(Buffer.from(tagBy(key, text)), presented));
}
