import { createHash, createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';
import { algorithmOf, KINDS, privateKeyOf } from './private-key.ts';
import { KeyRefused } from './key-refused.ts';
import { parseObject, type JsonObject } from '../contract/json.ts';

/** Private key with which the gateway signs assertions. */
export interface ClientKey {
  readonly key: KeyObject;
  /** Algorithms that fit the key, in order of preference. */
  readonly algorithms: readonly string[];
  /** `kid` of a JWK. */
  readonly kid: string | undefined;
  /** Thumbprint of the certificate in the same text. @see RFC 7515 §4.1.8 */
  readonly thumbprint: string | undefined;
}

const RSA = ['RS256', 'PS256', 'RS384', 'RS512', 'PS384', 'PS512'];
const ALGORITHMS: Readonly<Record<string, readonly string[]>> = { RS256: RSA, EdDSA: ['EdDSA', 'Ed25519'] };
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/gu;

/** Reads an unencrypted private key, PEM or JWK. `wanted` limits the algorithms. @throws KeyRefused */
export function clientKeyOf(text: string, wanted?: string): ClientKey {
  const jwk = parseObject(text);
  const key = jwk ? keyOfJwk(jwk) : privateKeyOf(text);
  const native = algorithmOf(key);
  const fitting = ALGORITHMS[native] ?? [native];
  const required = wanted ?? (typeof jwk?.['alg'] === 'string' ? jwk['alg'] : undefined);
  if (required !== undefined && !fitting.includes(required))
    throw new KeyRefused(`the algorithm ${required} does not fit this key: use ${fitting.join(', ')}, or another key`);
  const kid = jwk?.['kid'];
  return {
    key,
    algorithms: required === undefined ? fitting : [required],
    kid: typeof kid === 'string' && kid !== '' ? kid : undefined,
    thumbprint: jwk ? undefined : thumbprintIn(text, key),
  };
}

function keyOfJwk(jwk: JsonObject): KeyObject {
  if (Array.isArray(jwk['keys'])) throw new KeyRefused('this is a set of keys: store one private key of it');
  if (jwk['kty'] === 'oct') throw new KeyRefused(`this is a shared secret: ${KINDS}`);
  if (jwk['d'] === undefined) throw new KeyRefused('the JWK has no private part: store the private key');
  try {
    return createPrivateKey({ key: jwk, format: 'jwk' });
  } catch {
    throw new KeyRefused(`the key cannot be read: ${KINDS}`); // the error of OpenSSL must not be logged
  }
}

/** Returns the SHA-256 thumbprint of the certificate for the key; undefined without certificates. */
function thumbprintIn(pem: string, key: KeyObject): string | undefined {
  const certificates = pem.match(CERTIFICATE) ?? [];
  if (certificates.length === 0) return undefined;
  const own = certificates.map(parsed).find((certificate) => certificate?.checkPrivateKey(key) === true);
  if (!own) throw new KeyRefused('the certificate belongs to another key: remove it, or store that of this key');
  return createHash('sha256').update(own.raw).digest('base64url');
}

function parsed(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem);
  } catch {
    return undefined;
  }
}
