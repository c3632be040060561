import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { calculateJwkThumbprint, importJWK, type JWK } from 'jose';
import { describe, expect, it } from 'vitest';
import { KeyRefused } from '../../private-keys/private-key.ts';
import { newSigningKey, readSigningKey } from './signing-keys.ts';
import { ecKey, pem, rsaKey } from './testdata/files.ts';

const RSA = rsaKey();
const P256 = ecKey();
const ED = generateKeyPairSync('ed25519').privateKey;
const EC_PARAMETERS = '-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n';

describe('a signing key', () => {
  it.each([
    ['RSA in PKCS#8', pem(RSA), RSA, 'RS256'],
    ['RSA in PKCS#1', pem(RSA, 'pkcs1'), RSA, 'RS256'],
    ['P-256 in PKCS#8', pem(P256), P256, 'ES256'],
    ['P-256 in SEC1', pem(P256, 'sec1'), P256, 'ES256'],
    ['P-256 in SEC1 after its parameters, as openssl writes it', EC_PARAMETERS + pem(P256, 'sec1'), P256, 'ES256'],
    ['text around the key', `subject=me\n${pem(P256)}\n\n`, P256, 'ES256'],
    ['Windows line breaks', pem(P256).replaceAll('\n', '\r\n'), P256, 'ES256'],
    ['no trailing line break', pem(P256).trim(), P256, 'ES256'],
    ['Ed25519', pem(ED), ED, 'EdDSA'],
  ])('is read: %s', async (_what, text, key, alg) => {
    const { alg: found, kid, publicJwk, privateKey } = readSigningKey(text);
    const expected = createPublicKey(key).export({ format: 'jwk' }) as JWK;
    expect(found).toBe(alg);
    expect(kid).toBe(await calculateJwkThumbprint(expected, 'sha256'));
    expect(publicJwk).toEqual({ ...expected, kid, alg, use: 'sig' });
    expect(privateKey.equals(key)).toBe(true);
    expect(await importJWK(publicJwk)).toMatchObject({ type: 'public' });
  });

  it.each([
    ['P-384', 'ES384'],
    ['P-521', 'ES512'],
  ])('on %s signs with %s', (curve, alg) => {
    expect(readSigningKey(pem(ecKey(curve)))).toMatchObject({ alg, publicJwk: { crv: curve, alg } });
    expect(readSigningKey(pem(ecKey(curve), 'sec1'))).toMatchObject({ alg });
  });

  it('publishes no private members', () => {
    for (const key of [RSA, P256, ED]) expect(Object.keys(readSigningKey(pem(key)).publicJwk)).not.toContain('d');
  });

  it('is new for every process without a configured key', () => {
    const [one, two] = [newSigningKey(), newSigningKey()];
    expect([one.alg, two.alg]).toEqual(['ES256', 'ES256']);
    expect(one.kid).not.toBe(two.kid);
  });

  const encrypted = { format: 'pem', cipher: 'aes-256-cbc', passphrase: 'pass' } as const;
  it.each([
    ['empty', '', 'no private key'],
    ['text', 'hunter2', 'no private key'],
    ['a public key', createPublicKey(P256).export({ format: 'pem', type: 'spki' }).toString(), 'no private key'],
    ['an encrypted PKCS#8 key', P256.export({ ...encrypted, type: 'pkcs8' }).toString(), 'is encrypted'],
    ['an encrypted SEC1 key', P256.export({ ...encrypted, type: 'sec1' }).toString(), 'is encrypted'],
    ['an encrypted PKCS#1 key', RSA.export({ ...encrypted, type: 'pkcs1' }).toString(), 'is encrypted'],
    ['two keys', pem(P256) + pem(RSA), 'more than one private key'],
    ['RSA of 1024 bits', pem(rsaKey(1024)), 'less than 2048 bits'],
    ['secp256k1', pem(ecKey('secp256k1')), 'not supported'],
    ['secp256k1 in SEC1', pem(ecKey('secp256k1'), 'sec1'), 'not supported'],
    ['P-224', pem(ecKey('secp224r1')), 'not supported'],
    ['Ed448', pem(generateKeyPairSync('ed448').privateKey), 'not supported'],
    ['X25519', pem(generateKeyPairSync('x25519').privateKey), 'not supported'],
    ['RSA-PSS', pem(generateKeyPairSync('rsa-pss', { modulusLength: 2048 }).privateKey), 'not supported'],
    ['a broken key', pem(P256).replace(/MIG/, 'AAA'), 'cannot be read'],
    ['a truncated key', pem(RSA).slice(0, 300), 'no private key'],
    [
      'a key in an outdated format',
      '-----BEGIN DSA PRIVATE KEY-----\nMA==\n-----END DSA PRIVATE KEY-----',
      'no private key',
    ],
  ])('is rejected: %s', (_what, text, message) => {
    const read = (): unknown => readSigningKey(text);
    expect(read).toThrow(KeyRefused);
    expect(read).toThrow(message);
  });

  it('does not appear in the error', () => {
    const text = pem(rsaKey(1024));
    const body = text.split('\n')[1] ?? '';
    expect(() => readSigningKey(text)).not.toThrow(body);
    expect(() => readSigningKey(`${text}x`)).toThrow(expect.not.objectContaining({ cause: expect.anything() }));
  });
});
