import { generateKeyPairSync } from 'node:crypto';
import { unlink, writeFile } from 'node:fs/promises';
import { decodeJwt } from 'jose';
import { describe, expect, it, onTestFinished } from 'vitest';
import { GATEWAY_CLIENT, startIdentityProvider } from '../../../examples/identity-provider/provider.ts';
import { Secret } from '../../contract/identity.ts';
import { createAuthenticator } from '../index.ts';
import { callerOf } from '../testdata/callers.ts';
import { credentialError, strategyWorld } from '../testdata/strategy-deps.ts';
import { GOOD_REPLY, json, numbered, tokenEndpoint } from '../testdata/token-endpoint.ts';

const KEYS = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const PEM = KEYS.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
const URN = 'urn:ietf:params:oauth:token-type:';

async function exchanging(config: Record<string, unknown> = {}, limits = {}) {
  const endpoint = await tokenEndpoint();
  const world = await strategyWorld(limits);
  const entry = { type: 'token_exchange', token_url: endpoint.url, ...config };
  const alice = callerOf('alice', world.now());
  return { ...world, endpoint, entry, alice, authenticator: createAuthenticator(entry, world.deps) };
}

describe('a token exchange request', () => {
  it('contains the RFC 8693 parameters for the token of the user, and nothing that is not configured', async () => {
    const { authenticator, endpoint, alice } = await exchanging();
    expect(await authenticator.headers(alice)).toEqual({ authorization: 'Bearer alice-token@1' });
    const [request] = endpoint.seen;
    expect(Object.fromEntries(request?.form ?? [])).toEqual({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: 'alice-token',
      subject_token_type: `${URN}access_token`,
      requested_token_type: `${URN}access_token`,
    });
    expect(request?.headers['content-type']).toBe('application/x-www-form-urlencoded');
    expect(request?.headers.authorization).toBeUndefined();
  });

  it('contains audience, resource and scopes, and the id of a client without a secret in the form', async () => {
    const config = {
      audience: 'https://b/?a=1&c',
      resource: 'https://b/mcp',
      scopes: ['read', 'write'],
      client_id: 'a b',
    };
    const { authenticator, endpoint, alice } = await exchanging(config);
    await authenticator.headers(alice);
    expect(Object.fromEntries(endpoint.seen[0]?.form ?? [])).toMatchObject({
      audience: 'https://b/?a=1&c',
      resource: 'https://b/mcp',
      scope: 'read write',
      client_id: 'a b',
    });
  });

  it('omits an empty audience and an empty list of scopes', async () => {
    const { authenticator, endpoint, alice } = await exchanging({ audience: '', scopes: [] });
    await authenticator.headers(alice);
    expect([...(endpoint.seen[0]?.form.keys() ?? [])]).not.toContain('audience');
    expect([...(endpoint.seen[0]?.form.keys() ?? [])]).not.toContain('scope');
  });

  it('authenticates the client by Basic with form-encoded parts, and in no other way (RFC 6749 2.3.1)', async () => {
    const { authenticator, endpoint, alice, secret, entry, deps } = await exchanging();
    const client_secret_file = await secret('client', 'p:ä +%/=\n');
    const confidential = createAuthenticator({ ...entry, client_id: 'id:1 ü', client_secret_file }, deps);
    await confidential.headers(alice);
    const [scheme, credentials = ''] = endpoint.seen[0]?.headers.authorization?.split(' ') ?? [];
    expect(scheme).toBe('Basic');
    expect(Buffer.from(credentials, 'base64').toString()).toBe('id%3A1+%C3%BC:p%3A%C3%A4+%2B%25%2F%3D');
    expect(endpoint.seen[0]?.form.has('client_id')).toBe(false);
    expect(authenticator.perUser).toBe(true);
  });

  it('contains client id and secret only in the form with client_secret_post', async () => {
    const { endpoint, alice, secret, entry, deps } = await exchanging();
    const client_secret_file = await secret('client', 'p:ä +%/=\n');
    const client = { client_id: 'id:1 ü', client_secret_file, token_endpoint_auth_method: 'client_secret_post' };
    await createAuthenticator({ ...entry, ...client }, deps).headers(alice);
    expect(endpoint.seen[0]?.headers.authorization).toBeUndefined();
    expect(Object.fromEntries(endpoint.seen[0]?.form ?? [])).toMatchObject({
      client_id: 'id:1 ü',
      client_secret: 'p:ä +%/=',
    });
  });

  it('contains the secret only in Authorization with client_secret_basic', async () => {
    const { endpoint, alice, secret, entry, deps } = await exchanging();
    const client_secret_file = await secret('client', 'sesame');
    const client = { client_id: 'c', client_secret_file, token_endpoint_auth_method: 'client_secret_basic' };
    await createAuthenticator({ ...entry, ...client }, deps).headers(alice);
    expect(endpoint.seen[0]?.headers.authorization).toBe(`Basic ${btoa('c:sesame')}`);
    expect(endpoint.seen[0]?.body).not.toContain('sesame');
  });

  it('uses the new client secret after the file has changed', async () => {
    const { endpoint, alice, secret, entry, deps, advance } = await exchanging();
    const client_secret_file = await secret('client', 'old');
    const confidential = createAuthenticator({ ...entry, client_id: 'c', client_secret_file }, deps);
    const sent = await confidential.headers(alice);
    await writeFile(client_secret_file, 'new');
    advance(1_000);
    confidential.refused(alice, sent);
    await confidential.headers(alice);
    const secrets = endpoint.seen.map(({ headers }) => Buffer.from(headers.authorization?.slice(6) ?? '', 'base64'));
    expect(secrets.map(String)).toEqual(['c:old', 'c:new']);
  });

  it('authenticates the client by an assertion with its private key, which oidc-provider accepts', async () => {
    const provider = await startIdentityProvider({
      ...{ port: 0, opaque: true, accessTokenSeconds: 60, log: () => undefined },
      clientKeys: [KEYS.publicKey.export({ format: 'jwk' })],
    });
    onTestFinished(() => provider.close());
    const { secret, entry, deps } = await exchanging();
    const file = await secret('key', PEM);
    const subject = (await (await fetch(`${provider.issuer}/dev/token/ann`)).text()).trim();
    const ann = callerOf('ann', Date.now(), { token: new Secret(subject) });
    const client = { client_id: GATEWAY_CLIENT.id, private_key_jwt: { private_key_file: file } };
    const config = { ...entry, ...client, token_url: `${provider.issuer}/token`, audience: 'orders' };
    const { authorization = '' } = await createAuthenticator(config, { ...deps, now: Date.now }).headers(ann);
    expect(decodeJwt(authorization.slice('Bearer '.length))).toMatchObject({ sub: 'ann', aud: 'orders' });
  });

  it('has a new assertion in the second attempt, for the token endpoint and without a secret', async () => {
    const { endpoint, alice, secret, entry, deps } = await exchanging();
    const client = { client_id: 'c', private_key_jwt: { private_key_file: await secret('key', PEM), key_id: 'k1' } };
    endpoint.answer = (res, request) => json(GOOD_REPLY, endpoint.seen.length === 1 ? 503 : 200)(res, request);
    await createAuthenticator({ ...entry, ...client }, deps).headers(alice);
    const [first, second] = endpoint.seen.map(({ form }) => decodeJwt(form.get('client_assertion') ?? ''));
    expect(first).toMatchObject({ iss: 'c', sub: 'c', aud: endpoint.url });
    expect(second?.jti).not.toBe(first?.jti);
    expect(endpoint.seen.map(({ form, headers }) => [form.has('client_secret'), headers.authorization])).toEqual([
      [false, undefined],
      [false, undefined],
    ]);
  });

  it('is not sent with an unusable private key', async () => {
    const { endpoint, alice, secret, entry, deps } = await exchanging();
    const file = await secret('key', 'sesame');
    const client = { client_id: 'c', private_key_jwt: { private_key_file: file } };
    const error = await credentialError(() => createAuthenticator({ ...entry, ...client }, deps).headers(alice));
    expect(error.fault).toBe('misconfigured');
    expect(error.message).toBe(`the private key is unusable: ${file}: there is no private key in PEM form`);
    expect(endpoint.seen).toEqual([]);
  });

  it.each([
    ['jwt', `${URN}jwt`],
    ['id_token', `${URN}id_token`],
    [`${URN}jwt`, `${URN}jwt`],
  ])('contains the subject token type %s as a URN', async (subject_token_type, urn) => {
    const { authenticator, endpoint, alice } = await exchanging({ subject_token_type });
    await authenticator.headers(alice);
    expect(endpoint.seen[0]?.form.get('subject_token_type')).toBe(urn);
  });

  it.each([
    ['access_token', `${URN}access_token`],
    ['jwt', `${URN}jwt`],
    ['id_token', `${URN}id_token`],
    [`${URN}id_token`, `${URN}id_token`],
  ])(
    'contains the requested token type %s as a URN, and the issued token is accepted',
    async (requested_token_type, urn) => {
      const { authenticator, endpoint, alice } = await exchanging({ requested_token_type });
      endpoint.answer = numbered({ issued_token_type: urn });
      expect(await authenticator.headers(alice)).toEqual({ authorization: 'Bearer alice-token@1' });
      expect(endpoint.seen[0]?.form.get('requested_token_type')).toBe(urn);
    },
  );

  it('is not sent to an address that the guard rejects', async () => {
    const { endpoint, alice, entry, deps } = await exchanging();
    for (const token_url of ['http://169.254.169.254/token', 'http://10.0.0.1/token', 'https://10.0.0.1/token']) {
      const error = await credentialError(() => createAuthenticator({ ...entry, token_url }, deps).headers(alice));
      expect(error.fault).toBe('misconfigured');
    }
    expect(endpoint.seen).toEqual([]);
  });

  it('is not sent without the client secret', async () => {
    const { endpoint, alice, secret, entry, deps } = await exchanging();
    const file = await secret('client', '');
    const confidential = createAuthenticator({ ...entry, client_id: 'c', client_secret_file: file }, deps);
    const empty = await credentialError(() => confidential.headers(alice));
    await unlink(file);
    const missing = await credentialError(() => confidential.headers(alice));
    expect([empty.fault, missing.fault]).toEqual(['misconfigured', 'misconfigured']);
    expect(missing.message).toContain(file);
    expect(endpoint.seen).toEqual([]);
  });

  it('is not sent for an anonymous user or a probe', async () => {
    const { authenticator, endpoint } = await exchanging();
    expect((await credentialError(() => authenticator.headers(undefined))).fault).toBe('misconfigured');
    expect(authenticator.refused(undefined, {})).toBe(false);
    expect(endpoint.seen).toEqual([]);
  });
});

describe('the subject token of an exchange', () => {
  const OWNER = { tsid: 'tsid-of-alice', subject: 'alice', clientId: 'desktop' };

  it('is the stored access token of the configured provider', async () => {
    const { authenticator, endpoint, alice, tokens } = await exchanging({ subject_provider_name: 'corp' });
    tokens.put(OWNER, 'corp', { accessToken: 'stored', idToken: 'stored-id' });
    await authenticator.headers(alice);
    expect(endpoint.seen[0]?.form.get('subject_token')).toBe('stored');
    expect(endpoint.seen[0]?.body).not.toContain('alice-token');
  });

  it('is the stored ID token when the configured type is id_token', async () => {
    const config = { subject_provider_name: 'corp', subject_token_type: 'id_token' };
    const { authenticator, endpoint, alice, tokens } = await exchanging(config);
    tokens.put(OWNER, 'corp', { accessToken: 'stored', idToken: 'stored-id', idTokenExpiresIn: 300 });
    await authenticator.headers(alice);
    expect(endpoint.seen[0]?.form.get('subject_token')).toBe('stored-id');
    expect(endpoint.seen[0]?.form.get('subject_token_type')).toBe(`${URN}id_token`);
  });

  it('is missing when the ID token has expired and a refresh returns no other', async () => {
    const config = { subject_provider_name: 'corp', subject_token_type: 'id_token' };
    const { authenticator, endpoint, alice, tokens, advance } = await exchanging(config);
    const refresh = async () => ({ accessToken: 'refreshed' });
    tokens.put(OWNER, 'corp', { accessToken: 'stored', idToken: 'stored-id', idTokenExpiresIn: 300, refresh });
    advance(300_000);
    expect(await credentialError(() => authenticator.headers(alice))).toMatchObject({
      fault: 'reauthenticate',
      provider: 'corp',
    });
    expect(endpoint.seen).toEqual([]);
  });

  it('is missing without a login at the provider, or in another user’s login', async () => {
    const { authenticator, alice, tokens, now } = await exchanging({ subject_provider_name: 'corp' });
    const missing = { fault: 'reauthenticate', provider: 'corp' };
    expect(await credentialError(() => authenticator.headers(alice))).toMatchObject(missing);
    tokens.put(OWNER, 'corp', { accessToken: 'stored' });
    const thief = callerOf('bob', now(), { tsid: 'tsid-of-alice' });
    expect(await credentialError(() => authenticator.headers(thief))).toMatchObject(missing);
  });

  it('is unavailable while the store is down', async () => {
    const { authenticator, alice, tokens } = await exchanging({ subject_provider_name: 'corp' });
    tokens.down = true;
    expect((await credentialError(() => authenticator.headers(alice))).fault).toBe('store_unavailable');
  });

  it('requires a login at its provider when the endpoint rejects it', async () => {
    const { authenticator, endpoint, alice, tokens } = await exchanging({ subject_provider_name: 'corp' });
    tokens.put(OWNER, 'corp', { accessToken: 'stored' });
    endpoint.answer = json({ error: 'invalid_grant' }, 400);
    expect(await credentialError(() => authenticator.headers(alice))).toMatchObject({
      fault: 'reauthenticate',
      provider: 'corp',
    });
  });
});

describe('the header of an exchanged token', () => {
  it('is the custom header, and Authorization is not set', async () => {
    const config = { header_strategy: 'custom', external_token_header_name: 'X-Backend-Token' };
    const { authenticator, alice } = await exchanging(config);
    expect(await authenticator.headers(alice)).toEqual({ 'x-backend-token': 'Bearer alice-token@1' });
  });

  it('is Authorization unless the strategy is custom', async () => {
    const config = { header_strategy: 'replace', external_token_header_name: 'X-Backend-Token' };
    const { authenticator, alice } = await exchanging(config);
    expect(await authenticator.headers(alice)).toEqual({ authorization: 'Bearer alice-token@1' });
  });
});

describe('an exchanged token', () => {
  it('is cached and returned synchronously until the refresh margin', async () => {
    const { authenticator, endpoint, alice, now, advance } = await exchanging();
    endpoint.answer = numbered({ expires_in: 300 });
    const headers = await authenticator.headers(alice);
    expect(authenticator.headers(alice)).toBe(headers);
    expect(authenticator.headers(callerOf('alice', now()))).toBe(headers);
    advance(239_999);
    expect(authenticator.headers(alice)).toBe(headers);
    advance(1);
    expect(await authenticator.headers(alice)).toEqual({ authorization: 'Bearer alice-token@2' });
    expect(endpoint.seen).toHaveLength(2);
  });

  it.each([
    ['at most ten minutes', { expires_in: 86_400 }, 600],
    ['expires_in minus a minute', { expires_in: 360 }, 300],
    ['ten seconds when expires_in is just above the margin', { expires_in: 65 }, 10],
    ['expires_in when that is less than ten seconds', { expires_in: 4 }, 4],
    ['a minute without expires_in', { expires_in: undefined }, 60],
    ['a minute when expires_in is not a number', { expires_in: 'soon' }, 60],
    ['a minute when expires_in is negative', { expires_in: -1 }, 60],
    ['expires_in minus a minute when it is a numeric string', { expires_in: '360' }, 300],
  ])('is cached for %s', async (_, members, seconds) => {
    const { authenticator, endpoint, alice, advance } = await exchanging();
    endpoint.answer = numbered(members);
    await authenticator.headers(alice);
    advance(seconds * 1_000 - 1);
    await authenticator.headers(alice);
    expect(endpoint.seen).toHaveLength(1);
    advance(1);
    await authenticator.headers(alice);
    expect(endpoint.seen).toHaveLength(2);
  });

  it('is not cached beyond the expiry of the subject token', async () => {
    const { authenticator, endpoint, now, advance } = await exchanging();
    const shortly = callerOf('alice', now(), { expiresAt: now() + 30_000 });
    await authenticator.headers(shortly);
    advance(30_000);
    await authenticator.headers(shortly);
    expect(endpoint.seen).toHaveLength(2);
  });

  it('is not cached beyond the expiry of the stored subject token', async () => {
    const { authenticator, endpoint, alice, tokens, advance } = await exchanging({ subject_provider_name: 'corp' });
    const refresh = async () => ({ accessToken: 'renewed', expiresIn: 3_600 });
    const owner = { tsid: 'tsid-of-alice', subject: 'alice', clientId: 'desktop' };
    tokens.put(owner, 'corp', { accessToken: 'stored', expiresIn: 90, refresh });
    await authenticator.headers(alice);
    advance(90_000);
    await authenticator.headers(alice);
    expect(endpoint.seen.map(({ form }) => form.get('subject_token'))).toEqual(['stored', 'renewed']);
  });

  it('is not cached when it has already expired', async () => {
    const { authenticator, endpoint, alice } = await exchanging();
    endpoint.answer = numbered({ expires_in: 0 });
    expect(await authenticator.headers(alice)).toEqual({ authorization: 'Bearer alice-token@1' });
    expect(await authenticator.headers(alice)).toEqual({ authorization: 'Bearer alice-token@2' });
  });

  it('is cached for one token of one user in one login only', async () => {
    const { authenticator, endpoint, alice, now } = await exchanging();
    await authenticator.headers(alice);
    const token = alice.token;
    for (const other of [
      callerOf('alice', now(), { principal: 'another-issuer', token }),
      callerOf('alice', now(), { tsid: 'another-login', token }),
      callerOf('bob', now()),
    ]) {
      await authenticator.headers(other);
    }
    expect(endpoint.seen).toHaveLength(4);
  });

  it('is cached separately for each backend and configuration', async () => {
    const { authenticator, endpoint, entry, deps, alice } = await exchanging();
    await authenticator.headers(alice);
    await createAuthenticator({ ...entry, audience: 'other' }, deps).headers(alice);
    expect(endpoint.seen).toHaveLength(2);
  });
});

describe('parallel calls', () => {
  it('of one user cause one exchange when the cache is cold, even 200 of them', async () => {
    const { authenticator, endpoint, now } = await exchanging();
    const calls = Array.from({ length: 200 }, async () => authenticator.headers(callerOf('alice', now())));
    expect(new Set((await Promise.all(calls)).map((headers) => headers['authorization']))).toEqual(
      new Set(['Bearer alice-token@1']),
    );
    expect(endpoint.seen).toHaveLength(1);
  });

  it('of many users never mix their tokens', async () => {
    const { authenticator, endpoint, now } = await exchanging();
    endpoint.answer = (res, { form, ...request }) => {
      const subject = String(form.get('subject_token'));
      setTimeout(
        () => json({ ...GOOD_REPLY, access_token: `for-${subject}` })(res, { form, ...request }),
        Math.random() * 30,
      );
    };
    const users = Array.from({ length: 200 }, (_, n) => `user${String(n % 40)}`);
    const got = await Promise.all(users.map(async (user) => authenticator.headers(callerOf(user, now()))));
    expect(got).toEqual(users.map((user) => ({ authorization: `Bearer for-${user}-token` })));
    expect(endpoint.seen).toHaveLength(40);
  });

  it('share a failure, and the next call tries again unless the endpoint rejected the token', async () => {
    const { authenticator, endpoint, alice } = await exchanging();
    endpoint.answer = json({ error: 'server_error' }, 400);
    const calls = Array.from({ length: 50 }, () => credentialError(() => authenticator.headers(alice)));
    expect(new Set((await Promise.all(calls)).map(({ fault }) => fault))).toEqual(new Set(['unavailable']));
    expect(endpoint.seen).toHaveLength(1);
    endpoint.answer = json(GOOD_REPLY);
    expect(await authenticator.headers(alice)).toEqual({ authorization: 'Bearer exchanged' });
  });
});

describe('after a 401 of the backend', () => {
  it('the token is exchanged again, once for all rejected calls', async () => {
    const { authenticator, endpoint, alice } = await exchanging();
    const sent = await authenticator.headers(alice);
    const again = await Promise.all(
      Array.from({ length: 50 }, async () => {
        expect(authenticator.refused(alice, sent)).toBe(true);
        return authenticator.headers(alice);
      }),
    );
    expect(new Set(again.map((headers) => headers['authorization']))).toEqual(new Set(['Bearer alice-token@2']));
    expect(endpoint.seen).toHaveLength(2);
  });

  it('the stored subject token is refreshed too, once for all rejected calls', async () => {
    const { authenticator, endpoint, alice, tokens } = await exchanging({ subject_provider_name: 'corp' });
    const given = ['second', 'third'];
    const refresh = async () => ({ accessToken: given.shift() ?? 'none', expiresIn: 3_600 });
    const owner = { tsid: 'tsid-of-alice', subject: 'alice', clientId: 'desktop' };
    tokens.put(owner, 'corp', { accessToken: 'first', expiresIn: 3_600, refresh });
    expect(authenticator.provider).toBe('corp');
    const sent = await authenticator.headers(alice);
    await Promise.all(
      Array.from({ length: 50 }, async () => {
        authenticator.refused(alice, sent);
        return authenticator.headers(alice);
      }),
    );
    authenticator.refused(alice, sent);
    expect(await authenticator.headers(alice)).toEqual({ authorization: 'Bearer second@2' });
    expect(endpoint.seen.map(({ form }) => form.get('subject_token'))).toEqual(['first', 'second']);
    expect(given).toEqual(['third']);
  });

  it('a stored ID token is refreshed', async () => {
    const config = { subject_provider_name: 'corp', subject_token_type: 'id_token' };
    const { authenticator, endpoint, alice, tokens } = await exchanging(config);
    const refresh = async () => ({ accessToken: 'second', idToken: 'second-id', idTokenExpiresIn: 300 });
    const owner = { tsid: 'tsid-of-alice', subject: 'alice', clientId: 'desktop' };
    tokens.put(owner, 'corp', { accessToken: 'first', idToken: 'first-id', idTokenExpiresIn: 300, refresh });
    authenticator.refused(alice, await authenticator.headers(alice));
    await authenticator.headers(alice);
    expect(endpoint.seen.map(({ form }) => form.get('subject_token'))).toEqual(['first-id', 'second-id']);
  });

  it('no provider is named when the token of the user is exchanged', async () => {
    const { authenticator } = await exchanging();
    expect(authenticator.provider).toBeUndefined();
  });

  it('to a token that was replaced, the newer one stays cached', async () => {
    const { authenticator, endpoint, alice } = await exchanging();
    const sent = await authenticator.headers(alice);
    authenticator.refused(alice, sent);
    const newer = await authenticator.headers(alice);
    expect(authenticator.refused(alice, sent)).toBe(true);
    expect(authenticator.headers(alice)).toBe(newer);
    expect(endpoint.seen).toHaveLength(2);
  });

  it('to headers that it did not create, the call is not retried', async () => {
    const { authenticator, alice } = await exchanging();
    expect(authenticator.refused(alice, { 'x-other': 'a' })).toBe(false);
  });

  it('the tokens of other users stay cached', async () => {
    const { authenticator, alice, now } = await exchanging();
    const bob = callerOf('bob', now());
    const ofBob = await authenticator.headers(bob);
    authenticator.refused(alice, await authenticator.headers(alice));
    expect(authenticator.headers(bob)).toBe(ofBob);
  });
});
