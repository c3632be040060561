import { createPrivateKey, type KeyObject } from 'node:crypto';
import { KeyRefused } from './key-refused.ts';

const MIN_RSA_BITS = 2048;
const CURVE_ALGORITHMS: Readonly<Record<string, string>> = {
  prime256v1: 'ES256',
  secp384r1: 'ES384',
  secp521r1: 'ES512',
};
/** Kinds of keys that `algorithmOf` accepts, as advice. */
export const KINDS = 'use RSA of at least 2048 bits, EC on P-256, P-384 or P-521, or Ed25519';

const BLOCK = /-----BEGIN ([A-Z0-9 ]+)-----(?:(?!-----)[\s\S])*-----END \1-----/g;
/** PEM labels of PKCS#8, PKCS#1 and SEC1. @see RFC 5958, RFC 8017 A.1.2, RFC 5915 */
const PRIVATE = /^(?:(?:RSA|EC) )?PRIVATE KEY$/;

/** Reads the only private key of a text in PEM, which must not be encrypted. @throws KeyRefused */
export function privateKeyOf(pem: string): KeyObject {
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
