import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { readClientDocument } from './cimd.ts';
import type { HostPolicy } from './client-id-url.ts';
import { METADATA_RULES } from '../testdata/rules.ts';
import { newKey } from '../testdata/signing-client.ts';

const URL = 'https://client.example/client.json';
const KEYS_URL = 'https://keys.example/keys';
const HOSTS: HostPolicy = { allowedHosts: [], deniedHosts: ['denied.example'], allowLoopbackHttp: true };
const { jwk } = await newKey('k1');
const signing = await newKey('rsa', 'RS256');
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const weak = {
  ...generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({ format: 'jwk' }),
  alg: 'RS256',
};

const read = (members: object, clientId = URL) =>
  readClientDocument(
    clientId,
    JSON.stringify({
      client_id: clientId,
      client_name: 'Tool Caller',
      redirect_uris: ['https://client.example/cb'],
      token_endpoint_auth_method: 'private_key_jwt',
      ...members,
    }),
    { hosts: HOSTS, metadata: METADATA_RULES, allowCrossOriginRedirects: true },
    0,
  );

describe('a document of a client with keys', () => {
  it('may contain keys, of which the public part is kept', async () => {
    const jwks = { keys: [{ ...jwk, x5c: ['MIIB'], x5u: 'http://10.0.0.1/', note: 'x' }] };
    expect(await read({ jwks })).toMatchObject({
      ok: true,
      value: { metadata: { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [jwk] } } },
    });
    const { value } = (await read({ jwks })) as { value: { metadata: object } };
    expect(JSON.stringify(value)).not.toMatch(/x5c|x5u|note/u);
  });

  it.each<[string, object, object]>([
    ['at a URL', { jwks_uri: KEYS_URL }, { jwks_uri: KEYS_URL }],
    ['for RSA', { jwks: { keys: [signing.jwk] } }, { jwks: { keys: [signing.jwk] } }],
    ['next to an unusable one', { jwks: { keys: [jwk, { kty: 'new' }] } }, {}],
    ['for one algorithm', { jwks_uri: KEYS_URL, token_endpoint_auth_signing_alg: 'PS256' }, { token_endpoint_auth_signing_alg: 'PS256' }], // oxfmt-ignore
    ['at a URL, with jwks null', { jwks: null, jwks_uri: KEYS_URL }, { jwks_uri: KEYS_URL }],
  ])('may have a key %s', async (_, members, expected) => {
    expect(await read(members)).toMatchObject({ ok: true, value: { metadata: expected } });
  });

  it.each<[string, object]>([
    ['no key', {}],
    ['keys in two places', { jwks: { keys: [jwk] }, jwks_uri: KEYS_URL }],
    ['an RSA key of 8,256 bits', { jwks: { keys: [jwk, { ...signing.jwk, n: 'x'.repeat(1_376) }] } }],
    ['an RSA key with an exponent of 72 bits', { jwks: { keys: [{ ...signing.jwk, e: 'AQAAAAAAAAAB' }] } }],
    ['a key instead of a set', { jwks: jwk }],
    ['a list instead of a set', { jwks: [jwk] }],
    ['an empty set', { jwks: { keys: [] } }],
    ['eleven keys', { jwks: { keys: Array.from({ length: 11 }, () => jwk) } }],
    ['an entry that is not a key', { jwks: { keys: [jwk, null] } }],
    ['a private EC key', { jwks: { keys: [ec.privateKey.export({ format: 'jwk' })] } }],
    ['a private key beside a public one', { jwks: { keys: [jwk, { ...jwk, d: 'AA' }] } }],
    ['a prime of an RSA key', { jwks: { keys: [{ ...signing.jwk, p: 'AA' }] } }],
    ['a shared secret', { jwks: { keys: [{ kty: 'oct', k: 'AAAA' }] } }],
    ['a weak key alone', { jwks: { keys: [weak] } }],
    ['a key for encryption alone', { jwks: { keys: [{ ...jwk, use: 'enc' }] } }],
    ['a broken key alone', { jwks: { keys: [{ ...jwk, x: 'AA' }] } }],
    ['a key set by http', { jwks_uri: 'http://keys.example/keys' }],
    ['a key set on a loopback host for a public document', { jwks_uri: 'http://127.0.0.1:9/keys' }],
    ['a key set on a denied host', { jwks_uri: 'https://denied.example/keys' }],
    ['a URL with a password', { jwks_uri: 'https://a:b@keys.example/keys' }],
    ['a URL with a fragment', { jwks_uri: `${KEYS_URL}#k1` }],
    ['a URL that is not a string', { jwks_uri: [KEYS_URL] }],
    ['the algorithm none', { jwks_uri: KEYS_URL, token_endpoint_auth_signing_alg: 'none' }],
    ['a symmetric algorithm', { jwks_uri: KEYS_URL, token_endpoint_auth_signing_alg: 'HS256' }],
    ['an algorithm that is not a string', { jwks_uri: KEYS_URL, token_endpoint_auth_signing_alg: ['ES256'] }],
    ['a redirect to a loopback host', { jwks_uri: KEYS_URL, redirect_uris: ['http://127.0.0.1/cb'] }],
  ])('is rejected for %s', async (_, members) => {
    expect((await read(members)).ok).toBe(false);
  });

  it('on a loopback host may name keys on a loopback host, if that is allowed', async () => {
    const local = 'http://127.0.0.1:9/client.json';
    expect((await read({ jwks_uri: 'http://127.0.0.1:9/keys' }, local)).ok).toBe(true);
  });

  it('of a public client may contain keys, which are ignored', async () => {
    const reading = await read({ token_endpoint_auth_method: 'none', jwks_uri: KEYS_URL, jwks: 7 });
    expect(reading.ok && Object.keys(reading.value.metadata)).not.toContain('jwks_uri');
  });
});
