import { createLocalJWKSet, importJWK, type JWK, type JWTVerifyGetKey } from 'jose';

/** What signs the tokens of an issuer. One object until the keys change. */
export interface KeySet {
  /** Finds the key by the header of a token; throws the errors of jose when none or several fit. */
  readonly find: JWTVerifyGetKey;
  readonly kids: ReadonlySet<string>;
}

/** The current keys of one issuer: fetched and cached, or those of the authorization server in this process. */
export interface KeySource {
  /** Another object after every change of the keys: what was verified with another one is verified again. */
  readonly latest: KeySet | undefined;
  /** At once when at hand. Throws or rejects with `DependencyDown`. */
  current(): KeySet | Promise<KeySet>;
  /**
   * A newer set than `seen`, in which the key of a token is missing; `seen` itself when there is none or it was asked for
   * too often. Throws or rejects with `DependencyDown`.
   */
  renew(seen: KeySet): KeySet | Promise<KeySet>;
}

const MAX_KEYS = 100;
const MIN_RSA_BITS = 2048;
const EC_ALGORITHMS: Readonly<Record<string, string>> = { 'P-256': 'ES256', 'P-384': 'ES384', 'P-521': 'ES512' };

/**
 * The usable keys of a JWK set. Keys of other kinds and uses, broken, weak and secret ones are left out; a set without
 * any usable key, or with more than 100, is refused with an Error.
 * @see RFC 7517 §5
 */
export async function keySetOf(document: unknown): Promise<KeySet> {
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
    d === undefined // whoever publishes a private key has lost it
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
