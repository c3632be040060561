import { createPublicKey, generateKeyPairSync, sign as signBytes, type KeyObject } from 'node:crypto';

export const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
] as const;

export type Algorithm = (typeof ALGORITHMS)[number];

/** A signing key with its private part. */
export interface SigningKey {
  readonly kid: string;
  readonly alg: Algorithm;
  readonly privateKey: KeyObject;
  /** The public key as in the key set: with `kid`, `alg` and `use`. */
  readonly publicJwk: Readonly<Record<string, unknown>>;
}

const CURVES = { ES256: 'P-256', ES384: 'P-384', ES512: 'P-521' } as const;

/** RSA keys of issuers that have ended: a new one takes a tenth of a second of processor time. */
const rsaKeys: KeyObject[] = [];

function newPrivateKey(alg: Algorithm): KeyObject {
  if (alg === 'ES256' || alg === 'ES384' || alg === 'ES512')
    return generateKeyPairSync('ec', { namedCurve: CURVES[alg] }).privateKey;
  if (alg === 'EdDSA') return generateKeyPairSync('ed25519').privateKey;
  return rsaKeys.pop() ?? generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
}

export function newSigningKey(alg: Algorithm, kid: string): SigningKey {
  const privateKey = newPrivateKey(alg);
  const publicJwk = { ...createPublicKey(privateKey).export({ format: 'jwk' }), kid, alg, use: 'sig' };
  return { kid, alg, privateKey, publicJwk };
}

/** Lets later issuers sign with the keys of one that has ended. */
export function reuseKeys(keys: readonly SigningKey[]): void {
  rsaKeys.push(...keys.map(({ privateKey }) => privateKey).filter((key) => key.asymmetricKeyType === 'rsa'));
}

const encode = (part: unknown): string =>
  Buffer.from(typeof part === 'string' ? part : JSON.stringify(part)).toString('base64url');

/** Builds a JWS in compact form from any parts, valid or not; a part that is a string is not encoded. */
export function compactJws(header: unknown, payload: unknown, sign: (input: string) => Buffer): string {
  const input = `${encode(header)}.${encode(payload)}`;
  return `${input}.${sign(input).toString('base64url')}`;
}

/** Signs `input` with an algorithm of RFC 7518; the header may name another one. */
export function signatureBy(alg: Algorithm, key: KeyObject, input: string): Buffer {
  const data = Buffer.from(input);
  if (alg === 'EdDSA') return signBytes(null, data, key);
  const hash = `sha${alg.slice(2)}`;
  if (alg.startsWith('ES')) return signBytes(hash, data, { key, dsaEncoding: 'ieee-p1363' });
  // 6 is RSA_PKCS1_PSS_PADDING, 1 is RSA_PKCS1_PADDING; -1 is a salt as long as the hash
  const padding = alg.startsWith('PS') ? { padding: 6, saltLength: -1 } : { padding: 1 };
  return signBytes(hash, data, { key, ...padding });
}
