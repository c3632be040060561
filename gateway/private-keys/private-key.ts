import { createHash, createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';
import { parseObject, type JsonObject } from '../contract/json.ts';

/** A key or secret is unusable. `message` says what to change and contains nothing from the key. */
export class KeyRefused extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'KeyRefused';
  }
}

/** Runs `read`, and adds the name of the file to a `KeyRefused`. */
export function inFile<Value>(file: string, read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    throw error instanceof KeyRefused ? new KeyRefused(`${file}: ${error.message}`) : error;
  }
}

const MIN_RSA_BITS = 2048;
const CURVE_ALGORITHMS: Readonly<Record<string, string>> = {
  prime256v1: 'ES256',
  secp384r1: 'ES384',
  secp521r1: 'ES512',
};
/** Kinds of keys that `algorithmOf` accepts, as advice. */
const KINDS = 'use RSA of at least 2048 bits, EC on P-256, P-384 or P-521, or Ed25519';

const BLOCK = /-----BEGIN ([A-Z0-9 ]+)-----(?:(?!-----)[\s\S])*-----END \1-----/g;
/** PEM labels of PKCS#8, PKCS#1 and SEC1. @see RFC 5958, RFC 8017 A.1.2, RFC 5915 */
const PRIVATE = /^(?:(?:RSA|EC) )?PRIVATE KEY$/;

/** Reads the only private key of a text in PEM, which must not be encrypted. @throws KeyRefused */
export function readPrivateKey(pem: string): KeyObject {
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

/** Returns the signature algorithm of a key. @throws KeyRefused for weak and unsupported keys. */
export function algorithmOf({ asymmetricKeyType: type, asymmetricKeyDetails: details }: KeyObject): string {
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
export function readClientKey(text: string, wanted?: string): ClientKey {
  const jwk = parseObject(text);
  const key = jwk ? keyOfJwk(jwk) : readPrivateKey(text);
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
