import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { readClientDocument } from './cimd-document.ts';
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

describe('a document of a client with a key', () => {
  it('has it inside, of which the public part is kept', async () => {
    const jwks = { keys: [{ ...jwk, x5c: ['MIIB'], x5u: 'http://10.0.0.1/', note: 'x' }] };
    expect(await read({ jwks })).toMatchObject({
      ok: true,
      value: { metadata: { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [jwk] } } },
    });
    const { value } = (await read({ jwks })) as { value: { metadata: object } };
    expect(JSON.stringify(value)).not.toMatch(/x5c|x5u|note/u);
  });

  it.each<[string, object, object]>([
    ['at an address', { jwks_uri: KEYS_URL }, { jwks_uri: KEYS_URL }],
    ['of RSA', { jwks: { keys: [signing.jwk] } }, { jwks: { keys: [signing.jwk] } }],
    ['beside one that nobody can use', { jwks: { keys: [jwk, { kty: 'new' }] } }, {}],
    ['for one algorithm', { jwks_uri: KEYS_URL, token_endpoint_auth_signing_alg: 'PS256' }, { token_endpoint_auth_signing_alg: 'PS256' }], // prettier-ignore
    ['at an address, the other member being null', { jwks: null, jwks_uri: KEYS_URL }, { jwks_uri: KEYS_URL }],
  ])('may have it %s', async (_, members, expected) => {
    expect(await read(members)).toMatchObject({ ok: true, value: { metadata: expected } });
  });

  it.each<[string, object]>([
    ['no key', {}],
    ['keys in two places', { jwks: { keys: [jwk] }, jwks_uri: KEYS_URL }],
    ['no set', { jwks: jwk }],
    ['a list for a set', { jwks: [jwk] }],
    ['an empty set', { jwks: { keys: [] } }],
    ['eleven keys', { jwks: { keys: Array.from({ length: 11 }, () => jwk) } }],
    ['an entry that is no key', { jwks: { keys: [jwk, null] } }],
    ['a private EC key', { jwks: { keys: [ec.privateKey.export({ format: 'jwk' })] } }],
    ['a private key beside a public one', { jwks: { keys: [jwk, { ...jwk, d: 'AA' }] } }],
    ['a prime of an RSA key', { jwks: { keys: [{ ...signing.jwk, p: 'AA' }] } }],
    ['a shared secret', { jwks: { keys: [{ kty: 'oct', k: 'AAAA' }] } }],
    ['a weak key alone', { jwks: { keys: [weak] } }],
    ['a key for encryption alone', { jwks: { keys: [{ ...jwk, use: 'enc' }] } }],
    ['a broken key alone', { jwks: { keys: [{ ...jwk, x: 'AA' }] } }],
    ['a key set by http', { jwks_uri: 'http://keys.example/keys' }],
    ['a key set of this machine, the document being public', { jwks_uri: 'http://127.0.0.1:9/keys' }],
    ['a key set of a denied host', { jwks_uri: 'https://denied.example/keys' }],
    ['an address with a password', { jwks_uri: 'https://a:b@keys.example/keys' }],
    ['an address with a fragment', { jwks_uri: `${KEYS_URL}#k1` }],
    ['an address that is no text', { jwks_uri: [KEYS_URL] }],
    ['no algorithm', { jwks_uri: KEYS_URL, token_endpoint_auth_signing_alg: 'none' }],
    ['a symmetric algorithm', { jwks_uri: KEYS_URL, token_endpoint_auth_signing_alg: 'HS256' }],
    ['an algorithm that is no text', { jwks_uri: KEYS_URL, token_endpoint_auth_signing_alg: ['ES256'] }],
    ['a redirect to the machine of the user', { jwks_uri: KEYS_URL, redirect_uris: ['http://127.0.0.1/cb'] }],
  ])('is refused for %s', async (_, members) => {
    expect((await read(members)).ok).toBe(false);
  });

  it('of this machine may name keys of this machine, where that is allowed', async () => {
    const local = 'http://127.0.0.1:9/client.json';
    expect((await read({ jwks_uri: 'http://127.0.0.1:9/keys' }, local)).ok).toBe(true);
  });

  it('that is of a public client has no use for keys', async () => {
    const reading = await read({ token_endpoint_auth_method: 'none', jwks_uri: KEYS_URL, jwks: 7 });
    expect(reading.ok && Object.keys(reading.value.metadata)).not.toContain('jwks_uri');
  });
});
