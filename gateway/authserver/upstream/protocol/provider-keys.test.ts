import { createHmac } from 'node:crypto';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { compactJws, newSigningKey } from '../../../../e2e/harness/issuer-keys.ts';
import { createOutbound } from '../../../outbound/fetch.ts';
import { policyFor } from '../../../outbound/policy.ts';
import { ProviderKeys } from './provider-keys.ts';
import { json, metadataOf, openidProvider, raw, type ScriptedProvider } from '../testdata/scripted-provider.ts';
import { UpstreamError } from '../upstream-error.ts';

async function setUp() {
  const provider = await openidProvider();
  const outbound = createOutbound({ policy: policyFor(provider.issuer, {}) });
  const keys = new ProviderKeys(1_000);
  const metadata = metadataOf(provider) as { issuer: string };
  return { provider, hasSigned: (jwt: string) => keys.hasSigned(jwt, { metadata, outbound }) };
}

afterEach(() => {
  vi.useRealTimers();
});

describe('the signature of an ID token', () => {
  const other = newSigningKey('ES256', 'key-1');
  const withSignature = (jwt: string, signature: string): string => jwt.replace(/[^.]*$/u, signature);
  const BAD: readonly (readonly [string, (provider: ScriptedProvider) => string])[] = [
    ['of another key with the same kid', (p) => p.idToken({}, { key: other })],
    ['of another token', (p) => withSignature(p.idToken({ sub: 'eve' }), p.idToken().split('.')[2] ?? '')],
    ['that is missing', (p) => withSignature(p.idToken(), '')],
    ['cut off', (p) => p.idToken().slice(0, -2)],
    ['of a kid that is not in the set', (p) => p.idToken({}, { header: { kid: 'unknown' } })],
    ['by none', (p) => withSignature(p.idToken({}, { header: { alg: 'none' } }), '')],
    ['by an algorithm that differs from that of the key', (p) => p.idToken({}, { header: { alg: 'ES384' } })],
    ['by RSA with an EC key', (p) => p.idToken({}, { header: { alg: 'RS256' } })],
    [
      'by HMAC with the public key',
      (p) =>
        compactJws({ alg: 'HS256', kid: 'key-1' }, {}, (input) =>
          createHmac('sha256', JSON.stringify(p.key.publicJwk)).update(input).digest(),
        ),
    ],
    ['with an unknown critical header', (p) => p.idToken({}, { header: { crit: ['x'], x: 1 } })],
    ['in a text that is not a token', () => 'no.jwt'],
  ];

  it.each(BAD)('is rejected: %s', async (_name, token) => {
    const { provider, hasSigned } = await setUp();
    expect(await hasSigned(token(provider))).toBe(false);
    expect(await hasSigned(provider.idToken())).toBe(true);
    expect(provider.to('jwks')).toHaveLength(1);
  });

  it.each([
    ['is for encryption', { use: 'enc' }],
    ['is for another algorithm', { alg: 'ES384' }],
    ['is not for verification', { key_ops: ['sign'] }],
  ])('is rejected with a key that %s', async (_name, members) => {
    const { provider, hasSigned } = await setUp();
    provider.answers['jwks'] = json({ keys: [{ ...provider.key.publicJwk, ...members }] });
    expect(await hasSigned(provider.idToken())).toBe(false);
  });

  it('is rejected when two keys match', async () => {
    const { provider, hasSigned } = await setUp();
    const keys = [provider.key.publicJwk, other.publicJwk].map((jwk) => ({ ...jwk, kid: undefined }));
    provider.answers['jwks'] = json({ keys });
    expect(await hasSigned(provider.idToken({}, { header: { kid: undefined } }))).toBe(false);
  });
});

describe('the keys of a provider', () => {
  it('are fetched again for an unknown kid, at most every 30 s', async () => {
    const { provider, hasSigned } = await setUp();
    expect(await hasSigned(provider.idToken())).toBe(true);
    const key = newSigningKey('ES256', 'key-2');
    provider.answers['jwks'] = json({ keys: [provider.key.publicJwk, key.publicJwk] });
    expect(await hasSigned(provider.idToken({}, { key }))).toBe(false);
    expect(provider.to('jwks')).toHaveLength(1);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 31_000 });
    expect(await hasSigned(provider.idToken({}, { key }))).toBe(true);
    expect(provider.to('jwks')).toHaveLength(2);
  });

  it('are fetched again after 5 minutes, so that a withdrawn key becomes invalid', async () => {
    const { provider, hasSigned } = await setUp();
    expect(await hasSigned(provider.idToken())).toBe(true);
    provider.answers['jwks'] = json({ keys: [newSigningKey('ES256', 'key-2').publicJwk] });
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 301_000 });
    expect(await hasSigned(provider.idToken())).toBe(false);
  });

  it('are fetched once for many tokens', async () => {
    const { provider, hasSigned } = await setUp();
    await Promise.all(Array.from({ length: 20 }, () => hasSigned(provider.idToken())));
    expect(provider.to('jwks')).toHaveLength(1);
  });

  it.each([
    ['500', raw(500, {}), 'unavailable'],
    ['404', raw(404, {}), 'bad_reply'],
    ['HTML', raw(200, { 'content-type': 'text/html' }, '<html>'), 'bad_reply'],
    ['no key set', json({}), 'bad_reply'],
  ])('answered with %s are unavailable, which neither accepts nor rejects the token', async (_name, answer, fault) => {
    const { provider, hasSigned } = await setUp();
    provider.answers['jwks'] = answer;
    const error: unknown = await hasSigned(provider.idToken()).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(UpstreamError);
    expect(error).toMatchObject({ fault });
  });
});
