import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import type { JWK } from 'jose';
import { KeyRefused } from './key-refused.ts';

/** Private key with its public part. */
export interface SigningKey {
  /** SHA-256 thumbprint. @see RFC 7638 */
  readonly kid: string;
  /** Signature algorithm, determined by the kind of key. @see RFC 7518 §3.1, RFC 8037 §3.1 */
  readonly alg: string;
  /**
   * Key with the option of node:crypto for ECDSA signatures in JWS, which concatenate the two numbers (RFC 7518 §3.4).
   * Wrapping the key for each call would cost as much as the signature.
   */
  readonly privateKey: KeyObject & { readonly dsaEncoding: 'ieee-p1363' };
  /** Entry of the published key set, with `kid`, `alg` and `use`. */
  readonly publicJwk: JWK;
}

const MIN_RSA_BITS = 2048;
const CURVE_ALGORITHMS: Readonly<Record<string, string>> = {
  prime256v1: 'ES256',
  secp384r1: 'ES384',
  secp521r1: 'ES512',
};
const KINDS = 'use RSA of at least 2048 bits, EC on P-256, P-384 or P-521, or Ed25519';

const BLOCK = /-----BEGIN ([A-Z0-9 ]+)-----(?:(?!-----)[\s\S])*-----END \1-----/g;
/** PEM labels of PKCS#8, PKCS#1 and SEC1. @see RFC 5958, RFC 8017 A.1.2, RFC 5915 */
const PRIVATE = /^(?:(?:RSA|EC) )?PRIVATE KEY$/;

/** Reads one unencrypted private key in PEM. @throws KeyRefused for other text, and for weak or unsupported keys. */
export function signingKeyOf(pem: string): SigningKey {
  const privateKey = Object.assign(privateKeyOf(pem), { dsaEncoding: 'ieee-p1363' } as const);
  const alg = algorithmOf(privateKey);
  const publicJwk = createPublicKey(privateKey).export({ format: 'jwk' }) as JWK;
  const kid = thumbprint(publicJwk);
  return { kid, alg, privateKey, publicJwk: { ...publicJwk, kid, alg, use: 'sig' } };
}

export const newSigningKey = (): SigningKey => signingKeyOf(newSigningPem());

/** Creates a key in PEM. */
export const newSigningPem = (): string => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
};

function privateKeyOf(pem: string): KeyObject {
  const blocks = [...pem.matchAll(BLOCK)].map(([text, label = '']) => ({ text, label }));
  if (blocks.some(({ text, label }) => label.startsWith('ENCRYPTED ') || text.includes('Proc-Type: 4,ENCRYPTED')))
    throw new KeyRefused('the key is encrypted: store it without a passphrase');
  const [key, second] = blocks.filter(({ label }) => PRIVATE.test(label));
  if (key === undefined) throw new KeyRefused('there is no private key in PEM form');
  if (second !== undefined) throw new KeyRefused('there is more than one private key: use one file for each');
  try {
    return createPrivateKey(key.text);
  } catch {
    throw new KeyRefused(`the key cannot be read: ${KINDS}`); // the error of OpenSSL must not be logged
  }
}

function algorithmOf({ asymmetricKeyType: type, asymmetricKeyDetails: details }: KeyObject): string {
  if (type === 'rsa') {
    if ((details?.modulusLength ?? 0) < MIN_RSA_BITS)
      throw new KeyRefused(`the RSA key has less than 2048 bits: ${KINDS}`);
    return 'RS256';
  }
  if (type === 'ed25519') return 'EdDSA';
  const curve = details?.namedCurve ?? '';
  const alg = type === 'ec' && Object.hasOwn(CURVE_ALGORITHMS, curve) ? CURVE_ALGORITHMS[curve] : undefined;
  if (alg === undefined) throw new KeyRefused(`this kind of key is not supported: ${KINDS}`);
  return alg;
}

/** Members of the thumbprint, sorted by name. @see RFC 7638 §3.2, RFC 8037 §2 */
const THUMBPRINT_MEMBERS = {
  EC: ['crv', 'kty', 'x', 'y'],
  OKP: ['crv', 'kty', 'x'],
  RSA: ['e', 'kty', 'n'],
} as const;

function thumbprint(jwk: JWK): string {
  const members = THUMBPRINT_MEMBERS[jwk.kty as keyof typeof THUMBPRINT_MEMBERS];
  const essence = Object.fromEntries(members.map((member) => [member, jwk[member]]));
  return createHash('sha256').update(JSON.stringify(essence)).digest('base64url');
}
