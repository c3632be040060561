import { createHash, createPublicKey, generateKeyPairSync, sign as signAtOnce, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import type { JWK } from 'jose';
import { algorithmOf, readPrivateKey } from '../../private-keys/private-key.ts';

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

/** Reads one unencrypted private key in PEM. @throws KeyRefused for other text, and for weak or unsupported keys. */
export function readSigningKey(pem: string): SigningKey {
  const privateKey = Object.assign(readPrivateKey(pem), { dsaEncoding: 'ieee-p1363' } as const);
  const alg = algorithmOf(privateKey);
  const publicJwk = createPublicKey(privateKey).export({ format: 'jwk' }) as JWK;
  const kid = thumbprint(publicJwk);
  return { kid, alg, privateKey, publicJwk: { ...publicJwk, kid, alg, use: 'sig' } };
}

export const newSigningKey = (): SigningKey => readSigningKey(newSigningPem());

/** Creates a key in PEM. */
export const newSigningPem = (): string => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
};

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

const signInThreadPool = promisify<string | null, Buffer, KeyObject, Buffer>(signAtOnce);

/** Digest per algorithm; absent when the algorithm includes its own hash. @see RFC 7518 §3.3, §3.4, RFC 8037 §3.1 */
const DIGESTS: Readonly<Record<string, string>> = {
  RS256: 'sha256',
  ES256: 'sha256',
  ES384: 'sha384',
  ES512: 'sha512',
};

/**
 * Signs a JWT in compact form (RFC 7515 §7.1) with node:crypto, at a third of the cost of Web Crypto. RSA signatures are
 * computed in another thread, since they would delay other requests.
 */
export async function compactJws({ alg, kid, privateKey }: SigningKey, typ: string, claims: object): Promise<string> {
  const signed = `${encoded({ alg, kid, typ })}.${encoded(claims)}`;
  const sign = alg === 'RS256' ? signInThreadPool : signAtOnce;
  const signature = await sign(DIGESTS[alg] ?? null, Buffer.from(signed), privateKey);
  return `${signed}.${signature.toString('base64url')}`;
}

const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
