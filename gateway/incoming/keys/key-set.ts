import type { IncomingMessage } from 'node:http';
import { createLocalJWKSet, importJWK, type JWK, type JWTVerifyGetKey } from 'jose';

/** Keys that verify the tokens of an issuer. The object stays the same until the keys change. */
export interface KeySet {
  /** Finds the key for the header of a token. Throws an error of jose when no key or several keys match. */
  readonly find: JWTVerifyGetKey;
  readonly kids: ReadonlySet<string>;
}

/** The current keys of one issuer: fetched and cached, or those of the authorization server in this process. */
export interface KeySource {
  /** Returns a new object after every change of the keys; tokens verified with an older one are verified again. */
  readonly latest: KeySet | undefined;
  /** Returns synchronously when the keys are cached. Throws or rejects with `DependencyDown`. */
  current(): KeySet | Promise<KeySet>;
  /**
   * Returns a newer set than `seen`, which lacks the key of a token. Returns `seen` when there is no newer set or
   * fetches are rate-limited, for the client of `req` or for all. Throws or rejects with `DependencyDown`.
   */
  renew(seen: KeySet, req?: IncomingMessage): KeySet | Promise<KeySet>;
}

const MAX_KEYS = 100;
const MIN_RSA_BITS = 2048;
const EC_ALGORITHMS: Readonly<Record<string, string>> = { 'P-256': 'ES256', 'P-384': 'ES384', 'P-521': 'ES512' };

/**
 * Reads the usable keys of a JWK set. Skips keys of other types and uses, and invalid, weak and private keys. Rejects
 * a set without a usable key, or with more than 100 keys.
 * @see RFC 7517 §5
 */
export async function readKeySet(document: unknown): Promise<KeySet> {
  const keys = isSet(document) ? document.keys : undefined;
  if (keys === undefined) throw new Error('the reply is not a JSON Web Key Set');
  if (keys.length > MAX_KEYS) throw new Error(`the key set has more than ${String(MAX_KEYS)} keys`);
  const usable: JWK[] = [];
  for (const key of keys) if (isCandidate(key) && (await isImportable(key))) usable.push(key);
  if (usable.length === 0) throw new Error('the key set has no key that may sign tokens');
  return {
    find: createLocalJWKSet({ keys: usable }),
    kids: new Set(usable.flatMap(({ kid }) => kid ?? [])),
  };
}

const isSet = (document: unknown): document is { readonly keys: readonly unknown[] } =>
  typeof document === 'object' && document !== null && 'keys' in document && Array.isArray(document.keys);

function isCandidate(key: unknown): key is JWK {
  if (typeof key !== 'object' || key === null) return false;
  const { kty, kid, use, d } = key as JWK;
  return (
    (kty === 'RSA' || kty === 'EC' || kty === 'OKP') &&
    (kid === undefined || typeof kid === 'string') &&
    (use === undefined || use === 'sig') &&
    d === undefined // a published private key is compromised
  );
}

async function isImportable(key: JWK): Promise<boolean> {
  const alg = key.alg ?? usualAlgorithm(key);
  if (alg === undefined) return false;
  try {
    const imported = await importJWK(key, alg);
    return 'type' in imported && imported.type === 'public' && (key.kty !== 'RSA' || bits(key.n) >= MIN_RSA_BITS);
  } catch {
    return false;
  }
}

function usualAlgorithm({ kty, crv }: JWK): string | undefined {
  if (kty === 'RSA') return 'RS256';
  if (kty === 'OKP') return crv === 'Ed25519' ? 'EdDSA' : undefined;
  return EC_ALGORITHMS[crv ?? ''];
}

const bits = (modulus: string | undefined): number => {
  const bytes = Buffer.from(modulus ?? '', 'base64url');
  const start = bytes.findIndex((byte) => byte !== 0);
  return start === -1 ? 0 : (bytes.length - start) * 8 - Math.clz32(bytes[start] ?? 0) + 24;
};
