import { generateKeyPairSync, randomBytes, type KeyObject } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { decodeJwt, decodeProtectedHeader, type JWK } from 'jose';
import { describe, expect, it, onTestFinished } from 'vitest';
import { GATEWAY_CLIENT, startIdentityProvider } from '../../../examples/identity-provider/provider.ts';
import { Secret } from '../../contract/identity.ts';
import type { PrivateKeyJwtConfig } from '../../contract/run-config/private-key-jwt.ts';
import { Browser, callbackOf } from './testdata/browser.ts';
import { json, metadataOf, openidProvider, raw } from './testdata/scripted-provider.ts';
import {
  fileWith,
  oauth2Entry,
  oidcEntry,
  REDIRECT_URI,
  upstreamError,
  upstreamFor,
} from './testdata/upstream-under-test.ts';

const random = () => randomBytes(32).toString('base64url');
const newSecrets = () => ({ state: random(), codeVerifier: random(), nonce: random() });
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const ed = generateKeyPairSync('ed25519');

const pem = (key: KeyObject): string => key.export({ format: 'pem', type: 'pkcs8' }).toString();
const publicJwk = (key: KeyObject, kid: string): JWK => ({
  ...(key.export({ format: 'jwk' }) as JWK),
  kid,
  use: 'sig',
});

/** Starts `oidc-provider`, which knows the keys of the client, with the private key of the gateway in a file. */
async function known(keys: readonly JWK[], text: string, config: Partial<PrivateKeyJwtConfig> = {}) {
  const provider = await startIdentityProvider({
    ...{ port: 0, opaque: false, accessTokenSeconds: 60, log: () => undefined },
    ...{ redirectUris: [REDIRECT_URI], clientKeys: keys },
  });
  onTestFinished(() => provider.close());
  const file = await fileWith(text);
  const client = { client_id: GATEWAY_CLIENT.id, private_key_jwt: { private_key_file: file, ...config } };
  return { provider, file, oidc: oidcEntry(provider, { ...client, scopes: ['openid'] }), client };
}

async function logIn({ upstream }: ReturnType<typeof upstreamFor>) {
  const secrets = newSecrets();
  const callback = await new Browser(REDIRECT_URI).login(await upstream.authorizationUrl(secrets), 'ann');
  return upstream.login(callbackOf(callback), secrets);
}

describe('oidc-provider as a provider at which the gateway has a private key', () => {
  it.each<[string, KeyObject, KeyObject, Partial<PrivateKeyJwtConfig>]>([
    ['RSA', rsa.publicKey, rsa.privateKey, {}],
    ['RSA with PS256', rsa.publicKey, rsa.privateKey, { algorithm: 'PS256', key_id: 'k1' }],
    ['EC', ec.publicKey, ec.privateKey, {}],
    ['Ed25519', ed.publicKey, ed.privateKey, { key_id: 'k1' }],
  ])('logs in and refreshes: %s', async (_kind, publicKey, privateKey, config) => {
    const { oidc } = await known([publicJwk(publicKey, 'k1')], pem(privateKey), config);
    const under = upstreamFor(oidc);
    const login = await logIn(under);
    expect(login.identity).toMatchObject({ subject: 'ann', synthetic: false });
    expect(await under.upstream.refresh({ grant: login.grant, subject: 'ann' })).toMatchObject({
      outcome: 'refreshed',
    });
  });

  it('logs in without discovery, with the token endpoint or the configured issuer as audience', async () => {
    const { provider, client } = await known([publicJwk(ec.publicKey, 'k1')], pem(ec.privateKey));
    for (const more of [{}, { issuer: provider.issuer }]) {
      const entry = oauth2Entry(
        { url: (endpoint) => `${provider.issuer}/${endpoint === 'authorize' ? 'auth' : endpoint}` },
        { ...client, ...more, scopes: ['openid'] },
      );
      const { grant } = await logIn(upstreamFor(entry));
      expect(grant.accessToken.reveal()).not.toBe('');
    }
  });

  it('accepts the new key after a rotation of the file, and rejects another key and another audience', async () => {
    const keys = [publicJwk(ec.publicKey, 'old'), publicJwk(ed.publicKey, 'new')];
    const { oidc, file } = await known(keys, pem(ec.privateKey));
    const under = upstreamFor(oidc);
    await logIn(under);
    await writeFile(file, pem(ed.privateKey));
    under.advance(1_000);
    await logIn(under);
    await writeFile(file, pem(rsa.privateKey));
    under.advance(1_000);
    const rejected = await upstreamError(() => logIn(under));
    expect(rejected).toMatchObject({ fault: 'misconfigured', providerError: 'invalid_client' });
    const elsewhere = await known(keys, pem(ec.privateKey), { audience: 'https://other.example' });
    expect(await upstreamError(() => logIn(upstreamFor(elsewhere.oidc)))).toMatchObject({
      fault: 'misconfigured',
      providerError: 'invalid_client',
    });
  });
});

describe('requests of a client with a private key', () => {
  const grant = { accessToken: new Secret('a-1'), refreshToken: new Secret('r-1'), scope: 'openid' };

  it('carry a new assertion for the issuer each, and no secret', async () => {
    const provider = await openidProvider();
    const methods = { token_endpoint_auth_methods_supported: ['client_secret_basic'] };
    const algorithms = { token_endpoint_auth_signing_alg_values_supported: ['PS256'] };
    const metadata = { revocation_endpoint: provider.url('revoke'), ...methods, ...algorithms };
    provider.answers['openid-configuration'] = json(metadataOf(provider, metadata));
    provider.answers['revoke'] = raw(200, {});
    const file = await fileWith(pem(rsa.privateKey));
    const { upstream } = upstreamFor(oidcEntry(provider, { private_key_jwt: { private_key_file: file } }));
    await upstream.refresh({ grant, subject: 'ann' });
    expect(await upstream.revoke(grant)).toBe(true);
    const requests = [...provider.to('token'), ...provider.to('revoke')];
    expect(requests).toHaveLength(3);
    const assertions = requests.map(({ form }) => form.get('client_assertion') ?? '');
    for (const { form, headers } of requests) {
      expect(headers.authorization).toBeUndefined();
      expect([form.get('client_id'), form.has('client_secret')]).toEqual(['vmcp-client', false]);
    }
    expect(assertions.map((each) => decodeJwt(each).aud)).toEqual(Array(3).fill(provider.issuer));
    expect(assertions.map((each) => decodeProtectedHeader(each).alg)).toEqual(Array(3).fill('PS256'));
    expect(new Set(assertions.map((each) => decodeJwt(each).jti)).size).toBe(3);
  });

  it('are not sent with an unusable key, which the error names', async () => {
    const provider = await openidProvider();
    const file = await fileWith('sesame');
    const { upstream } = upstreamFor(oidcEntry(provider, { private_key_jwt: { private_key_file: file } }));
    expect(await upstream.refresh({ grant, subject: 'ann' })).toMatchObject({
      outcome: 'unavailable',
      reason: `the private key is unusable: ${file}: there is no private key in PEM form`,
    });
    expect(provider.to('token')).toEqual([]);
  });
});
