import { generateKeyPairSync, hash, type KeyObject } from 'node:crypto';
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import { describe, expect, it } from 'vitest';
import type { PrivateKeyJwtConfig } from '../contract/run-config/private-key-jwt.ts';
import { ClientAssertion, type AssertionRequest } from './client-assertion.ts';
import { CERTIFICATE, CERTIFIED_KEY } from './testdata/certified-key.ts';

const AUDIENCE = 'https://idp.example';
const NOW = 1_800_000_000_999;
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const ed = generateKeyPairSync('ed25519');
const curve = (namedCurve: string) => generateKeyPairSync('ec', { namedCurve });

const pem = (key: KeyObject, type: 'pkcs8' | 'pkcs1' | 'sec1' = 'pkcs8'): string =>
  key.export({ format: 'pem', type }).toString();
const jwk = (key: KeyObject, members: object = {}): string =>
  JSON.stringify({ ...key.export({ format: 'jwk' }), ...members });

/** An assertion with the key in `text`, which `rotate` replaces. */
function signing(text: string, config: Partial<PrivateKeyJwtConfig> = {}) {
  let current = text;
  const deps = { readSecret: () => current, now: () => NOW };
  const assertion = new ClientAssertion({ private_key_file: '/keys/client', ...config }, deps);
  return {
    sign: (request: Partial<AssertionRequest> = {}) =>
      assertion.parameters({ clientId: 'desk', audience: AUDIENCE, ...request }),
    rotate: (next: string) => void (current = next),
  };
}

const verified = (assertion: string, { publicKey }: { readonly publicKey: KeyObject }) =>
  jwtVerify(assertion, publicKey, { currentDate: new Date(NOW) });

describe('an assertion', () => {
  it.each([
    ['RSA as PKCS#8', pem(rsa.privateKey), rsa, 'RS256'],
    ['RSA as PKCS#1', pem(rsa.privateKey, 'pkcs1'), rsa, 'RS256'],
    ['EC as PKCS#8', pem(ec.privateKey), ec, 'ES256'],
    ['EC as SEC 1', pem(ec.privateKey, 'sec1'), ec, 'ES256'],
    ['Ed25519 as PKCS#8', pem(ed.privateKey), ed, 'EdDSA'],
    ['RSA as JWK', jwk(rsa.privateKey), rsa, 'RS256'],
    ['RSA as JWK with an algorithm', jwk(rsa.privateKey, { alg: 'PS384' }), rsa, 'PS384'],
    ['EC as JWK', ` ${jwk(ec.privateKey)}\n`, ec, 'ES256'],
    ['Ed25519 as JWK', jwk(ed.privateKey), ed, 'EdDSA'],
  ])('is signed with %s', async (_form, text, keys, alg) => {
    const { client_id, client_assertion_type, client_assertion } = await signing(text).sign();
    const { payload, protectedHeader } = await verified(client_assertion, keys);
    expect(client_id).toBe('desk');
    expect(client_assertion_type).toBe('urn:ietf:params:oauth:client-assertion-type:jwt-bearer');
    expect(protectedHeader).toEqual({ alg, typ: 'JWT' });
    expect(payload).toMatchObject({ iss: 'desk', sub: 'desk', aud: AUDIENCE });
  });

  it.each(['P-384', 'P-521'])('uses the algorithm of the curve %s', async (name) => {
    const keys = curve(name);
    const { client_assertion } = await signing(pem(keys.privateKey)).sign();
    const alg = name === 'P-384' ? 'ES384' : 'ES512';
    expect((await verified(client_assertion, keys)).protectedHeader.alg).toBe(alg);
  });

  it('lives for a minute at most, and has another id each time', async () => {
    const { sign } = signing(pem(ec.privateKey));
    const [one, two] = await Promise.all([sign(), sign()]);
    const payloads = await Promise.all(
      [one, two].map(async (each) => (await verified(each.client_assertion, ec)).payload),
    );
    const now = Math.floor(NOW / 1_000);
    for (const { iat = 0, nbf = 0, exp = 0 } of payloads) {
      expect([iat <= now, nbf <= now, exp > now, exp - iat <= 60]).toEqual([true, true, true, true]);
    }
    expect(payloads[0]?.jti).not.toBe(payloads[1]?.jti);
  });

  it.each([
    ['an RSA key', pem(rsa.privateKey), ['PS256', 'ES256'], 'PS256'],
    ['an RSA key, RS256 first', pem(rsa.privateKey), ['PS256', 'RS256'], 'RS256'],
    ['an Ed25519 key', pem(ed.privateKey), ['Ed25519'], 'Ed25519'],
    ['a key for none of them', pem(ec.privateKey), ['RS256'], 'ES256'],
  ])('uses an algorithm that the provider lists for %s', async (_key, text, supported, alg) => {
    const { client_assertion } = await signing(text).sign({ supported });
    expect(decodeProtectedHeader(client_assertion).alg).toBe(alg);
  });

  it('has the configured algorithm, audience and key id, which replaces that of a JWK', async () => {
    const config = { algorithm: 'PS512', audience: `${AUDIENCE}/token`, key_id: '2026-11' } as const;
    const { client_assertion } = await signing(jwk(rsa.privateKey, { kid: 'old' }), config).sign({
      supported: ['RS256'],
    });
    const { payload, protectedHeader } = await verified(client_assertion, rsa);
    expect(protectedHeader).toMatchObject({ alg: 'PS512', kid: '2026-11' });
    expect(payload.aud).toBe(`${AUDIENCE}/token`);
  });

  it('has the key id of a JWK, and the thumbprint of a certificate beside the key', async () => {
    const named = await signing(jwk(ec.privateKey, { kid: 'k1' })).sign();
    expect(decodeProtectedHeader(named.client_assertion).kid).toBe('k1');
    const certified = await signing(`${CERTIFICATE}\n${CERTIFIED_KEY}`).sign();
    const der = Buffer.from(CERTIFICATE.replaceAll(/-----[A-Z ]+-----|\s/gu, ''), 'base64');
    expect(decodeProtectedHeader(certified.client_assertion)['x5t#S256']).toBe(hash('sha256', der, 'base64url'));
  });

  it('is signed with the new key after a rotation', async () => {
    const { sign, rotate } = signing(pem(ec.privateKey));
    await sign();
    rotate(pem(ed.privateKey));
    const { client_assertion } = await sign();
    const keys = createLocalJWKSet({ keys: [ed.publicKey.export({ format: 'jwk' })] });
    await jwtVerify(client_assertion, keys, { currentDate: new Date(NOW) });
  });
});

describe('an unusable key', () => {
  const encrypted = rsa.privateKey.export({ format: 'pem', type: 'pkcs8', cipher: 'aes-256-cbc', passphrase: 'x' });
  const weak = generateKeyPairSync('rsa', { modulusLength: 1024 });

  it.each([
    ['an empty file', '', 'there is no private key in PEM form'],
    ['a client secret', 'sesame-sesame-sesame', 'there is no private key in PEM form'],
    ['a public key', rsa.publicKey.export({ format: 'pem', type: 'spki' }).toString(), 'there is no private key'],
    ['two keys', pem(rsa.privateKey) + pem(ec.privateKey), 'there is more than one private key'],
    ['an encrypted key', encrypted.toString(), 'the key is encrypted: store it without a passphrase'],
    ['a damaged key', pem(ec.privateKey).replace(/^MI.{6}/mu, 'MIIBIBAB'), 'the key cannot be read: use RSA'],
    ['a short RSA key', pem(weak.privateKey), 'the RSA key has less than 2048 bits'],
    ['a key on another curve', pem(curve('secp256k1').privateKey), 'this kind of key is not supported'],
    ['a public JWK', jwk(ec.publicKey), 'the JWK has no private part'],
    ['a set of keys', JSON.stringify({ keys: [{ kty: 'EC' }] }), 'this is a set of keys'],
    ['a shared secret as JWK', JSON.stringify({ kty: 'oct', k: 'c2VzYW1l' }), 'this is a shared secret'],
    ['a damaged JWK', JSON.stringify({ kty: 'EC', crv: 'P-256', d: 'x' }), 'the key cannot be read'],
    [
      'a JWK with the algorithm of another key',
      jwk(ec.privateKey, { alg: 'RS256' }),
      'the algorithm RS256 does not fit this key: use ES256',
    ],
    ['a certificate of another key', pem(ec.privateKey) + CERTIFICATE, 'the certificate belongs to another key'],
  ])('is refused with its file and its fault: %s', async (_what, text, message) => {
    const refused = (await signing(text)
      .sign()
      .catch((error: unknown) => error)) as Error;
    expect(refused.message).toContain(`/keys/client: ${message}`);
    const secret = text.replaceAll(/-----[A-Z ]+-----|\s/gu, '').slice(0, 24);
    if (secret.length === 24) expect(refused.message).not.toContain(secret);
  });

  it('is one that the configured algorithm does not fit', async () => {
    const refused = signing(pem(rsa.privateKey), { algorithm: 'ES256' }).sign();
    await expect(refused).rejects.toThrow('the algorithm ES256 does not fit this key: use RS256, PS256');
  });
});
