import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { compactJws, newSigningKey } from '../../../e2e/harness/issuer-keys.ts';
import { eventually } from '../../../e2e/harness/poll.ts';
import { Secret } from '../../contract/identity.ts';
import {
  CLIENT_ID,
  json,
  metadataOf,
  openidProvider,
  raw,
  SECRETS,
  type Answer,
  type Claims,
  type ScriptedProvider,
} from './testdata/scripted-provider.ts';
import { fileWith, oidcEntry, REDIRECT_URI, upstreamError, upstreamFor } from './testdata/upstream-under-test.ts';
import { clientAnswer } from './upstream-error.ts';

const plain = ({
  subject,
  synthetic,
  name,
  email,
}: {
  subject: string;
  synthetic: boolean;
  name?: string | undefined;
  email?: string | undefined;
}) => ({
  subject,
  synthetic,
  name,
  email,
});

/** Token reply with another ID token, or with other members. */
const tokens =
  (provider: ScriptedProvider, idToken: () => unknown = () => provider.idToken(), more: Claims = {}): Answer =>
  (res, request) =>
    json({ access_token: 'access-1', token_type: 'Bearer', expires_in: 60, id_token: idToken(), ...more })(
      res,
      request,
    );

describe('the authorization URL of an OpenID provider', () => {
  it('contains PKCE S256, state, nonce, scopes and configured parameters', async () => {
    const provider = await openidProvider();
    const params = { access_type: 'offline', prompt: 'consent' };
    const { upstream } = upstreamFor(oidcEntry(provider, { additional_authorization_params: params }));
    const url = new URL(await upstream.authorizationUrl(SECRETS));
    expect(url.origin + url.pathname).toBe(provider.url('authorize'));
    expect(Object.fromEntries(url.searchParams)).toEqual({
      client_id: CLIENT_ID,
      response_type: 'code',
      redirect_uri: REDIRECT_URI,
      scope: 'openid offline_access',
      state: SECRETS.state,
      nonce: SECRETS.nonce,
      code_challenge: createHash('sha256').update(SECRETS.codeVerifier).digest('base64url'),
      code_challenge_method: 'S256',
      ...params,
    });
    const forced = new URL(await upstream.authorizationUrl({ ...SECRETS, forceLogin: true }));
    expect(forced.searchParams.get('prompt')).toBe('login consent');
  });

  it.each([
    ['none is configured', {}, {}, 'openid offline_access'],
    ['the provider does not list offline_access', {}, { scopes_supported: ['openid', 'email'] }, 'openid'],
    [
      'the provider lists offline_access',
      {},
      { scopes_supported: ['openid', 'offline_access'] },
      'openid offline_access',
    ],
    ['they are configured', { scopes: ['openid', 'x'] }, { scopes_supported: ['openid'] }, 'openid x'],
  ])('contains scopes when %s', async (_name, config, metadata, expected) => {
    const provider = await openidProvider(metadata);
    const { upstream } = upstreamFor(oidcEntry(provider, config));
    expect(new URL(await upstream.authorizationUrl(SECRETS)).searchParams.get('scope')).toBe(expected);
  });
});

describe('a login at an OpenID provider', () => {
  it('returns tokens and identity', async () => {
    const provider = await openidProvider();
    const { upstream, now } = upstreamFor(oidcEntry(provider));
    const { grant, identity } = await upstream.login({ code: 'the-code' }, SECRETS);
    expect(identity).toMatchObject({ subject: 'ann', synthetic: false });
    expect(grant.accessToken.reveal()).toBe('access-1');
    expect(grant.refreshToken?.reveal()).toBe('refresh-1');
    expect(grant.expiresAt).toBe(now() + 3_600_000);
    expect(grant.idTokenExpiresAt).toBeGreaterThan(now() + 500_000);
    expect(Object.fromEntries(provider.to('token')[0]!.form)).toEqual({
      grant_type: 'authorization_code',
      code: 'the-code',
      code_verifier: SECRETS.codeVerifier,
      redirect_uri: REDIRECT_URI,
      client_id: CLIENT_ID,
    });
    expect(JSON.stringify({ grant, identity })).not.toContain('access-1');
  });

  const other = newSigningKey('ES256', 'key-1');
  const hs256 = (provider: ScriptedProvider) =>
    compactJws(
      { alg: 'HS256' },
      { iss: provider.issuer, aud: CLIENT_ID, sub: 'ann', nonce: SECRETS.nonce, iat: 1, exp: 4e9 },
      () => Buffer.from('x'),
    );
  const BAD_ID_TOKENS: readonly (readonly [string, (provider: ScriptedProvider) => unknown])[] = [
    ['a wrong nonce', (p) => p.idToken({ nonce: 'another' })],
    ['no nonce', (p) => p.idToken({ nonce: undefined })],
    ['a foreign audience', (p) => p.idToken({ aud: 'another' })],
    ['no audience', (p) => p.idToken({ aud: undefined })],
    ['several audiences without azp', (p) => p.idToken({ aud: [CLIENT_ID, 'another'] })],
    ['several audiences and a foreign azp', (p) => p.idToken({ aud: [CLIENT_ID, 'another'], azp: 'another' })],
    ['another issuer', (p) => p.idToken({ iss: 'https://evil.example' })],
    ['the issuer with a slash', (p) => p.idToken({ iss: `${p.issuer}/` })],
    ['exp in the past', (p) => p.idToken({ exp: 1_000_000 })],
    ['no exp', (p) => p.idToken({ exp: undefined })],
    ['nbf in the future', (p) => p.idToken({ nbf: 4_000_000_000 })],
    ['no subject', (p) => p.idToken({ sub: undefined })],
    ['an empty subject', (p) => p.idToken({ sub: '' })],
    ['a number as subject', (p) => p.idToken({ sub: 7 })],
    ['a subject of 256 characters', (p) => p.idToken({ sub: 'a'.repeat(256) })],
    ['a foreign key', (p) => p.idToken({}, { key: other })],
    ['a key that is not in the set', (p) => p.idToken({}, { key: newSigningKey('ES256', 'unknown') })],
    ['alg none', (p) => p.idToken({}, { header: { alg: 'none' } }).replace(/[^.]+$/u, '')],
    ['alg HS256', hs256],
    ['an alg that the metadata do not list', (p) => p.idToken({}, { header: { alg: 'ES512' } })],
    ['a critical header', (p) => p.idToken({}, { header: { crit: ['x'], x: 1 } })],
    ['a text that is not a JWT', () => 'no.jwt'],
    ['no value', () => undefined],
    ['an object as value', () => ({})],
  ];

  it.each(BAD_ID_TOKENS)('rejects an ID token with %s', async (_name, idToken) => {
    const provider = await openidProvider({ id_token_signing_alg_values_supported: ['ES256', 'HS256', 'none'] });
    provider.answers['token'] = tokens(provider, () => idToken(provider));
    const { upstream } = upstreamFor(oidcEntry(provider));
    const error = await upstreamError(() => upstream.login({ code: 'c' }, SECRETS));
    expect(clientAnswer(error.fault)).toBe('server_error');
    expect(error.message).not.toMatch(/another|evil|access-1|nonce-of/u);
  });

  it('accepts its own client id as azp, and reuses keys and metadata', async () => {
    const provider = await openidProvider();
    const { upstream } = upstreamFor(oidcEntry(provider));
    const azp = () => provider.idToken({ aud: [CLIENT_ID, 'another'], azp: CLIENT_ID });
    provider.answers['token'] = tokens(provider, azp);
    await upstream.login({ code: 'c' }, SECRETS);
    await upstream.login({ code: 'c' }, SECRETS);
    expect(provider.to('jwks')).toHaveLength(1);
    expect(provider.to('openid-configuration')).toHaveLength(1);
  });

  it('does not exchange the code of a callback of another provider', async () => {
    const provider = await openidProvider({ authorization_response_iss_parameter_supported: true });
    const { upstream } = upstreamFor(oidcEntry(provider));
    for (const iss of [undefined, 'https://evil.example', `${provider.issuer}/`]) {
      const error = await upstreamError(() => upstream.login({ code: 'c', iss }, SECRETS));
      expect(clientAnswer(error.fault)).toBe('page');
    }
    expect(provider.to('token')).toHaveLength(0);
    await upstream.login({ code: 'c', iss: provider.issuer }, SECRETS);
  });

  it('fails with a code of another provider', async () => {
    const provider = await openidProvider();
    provider.answers['token'] = json({ error: 'invalid_grant', error_description: 'not mine' }, 400);
    const { upstream } = upstreamFor(oidcEntry(provider));
    const error = await upstreamError(() => upstream.login({ code: 'code-of-b' }, SECRETS));
    expect(error).toMatchObject({ fault: 'rejected', providerError: 'invalid_grant', providerDescription: 'not mine' });
    expect(clientAnswer(error.fault)).toBe('server_error');
  });

  it.each([
    ['the claim', { oid: 'o-1' }, 'o-1'],
    ['a claim that is missing', {}, undefined],
    ['a claim that is a number', { oid: 7 }, undefined],
    ['an empty claim', { oid: '' }, undefined],
  ])('uses the subject from %s', async (_name, claims, expected) => {
    const provider = await openidProvider();
    provider.answers['token'] = tokens(provider, () => provider.idToken(claims));
    const { upstream } = upstreamFor(oidcEntry(provider, { subject_claim: 'oid' }));
    const login = upstream.login({ code: 'c' }, SECRETS);
    if (expected === undefined) expect((await upstreamError(() => login)).fault).toBe('bad_reply');
    else expect((await login).identity.subject).toBe(expected);
  });
});

it('returns the claims of the ID token with those of userinfo', async () => {
  const provider = await openidProvider();
  provider.answers['openid-configuration'] = (res, request) =>
    json(metadataOf(provider, { userinfo_endpoint: provider.url('userinfo') }))(res, request);
  provider.answers['userinfo'] = json({ sub: 'ann', groups: ['of userinfo'], team: 'blue' });
  provider.answers['token'] = tokens(provider, () => provider.idToken({ groups: ['of the ID token'] }));
  const claimsWith = async (scopes: string[]) =>
    (await upstreamFor(oidcEntry(provider, { scopes })).upstream.login({ code: 'c' }, SECRETS)).identity.claims;
  expect(await claimsWith(['openid', 'profile'])).toMatchObject({ groups: ['of the ID token'], team: 'blue' });
  const alone = await claimsWith(['openid']);
  expect(alone).toMatchObject({ groups: ['of the ID token'], sub: 'ann' });
  expect(Object.keys(alone)).not.toContain('team');
});

describe('userinfo of an OpenID provider', () => {
  it('adds requested name and e-mail address that the ID token does not contain', async () => {
    const provider = await openidProvider();
    provider.answers['openid-configuration'] = (res, request) =>
      json(metadataOf(provider, { userinfo_endpoint: provider.url('userinfo') }))(res, request);
    provider.answers['userinfo'] = json({ sub: 'ann', name: 'Ann', email: 'ann@example.com' });
    const { upstream } = upstreamFor(oidcEntry(provider, { scopes: ['openid', 'profile'] }));
    const { identity } = await upstream.login({ code: 'c' }, SECRETS);
    expect(plain(identity)).toEqual({ subject: 'ann', synthetic: false, name: 'Ann', email: 'ann@example.com' });
    provider.answers['userinfo'] = json({ sub: 'bob', name: 'Bob' });
    expect((await upstreamError(() => upstream.login({ code: 'c' }, SECRETS))).fault).toBe('bad_reply');
    provider.answers['userinfo'] = raw(500, {}, 'x');
    const without = await upstream.login({ code: 'c' }, SECRETS);
    expect(plain(without.identity)).toEqual({ subject: 'ann', synthetic: false, name: undefined, email: undefined });
    const silent = upstreamFor(oidcEntry(provider));
    await silent.upstream.login({ code: 'c' }, SECRETS);
    expect(provider.to('userinfo')).toHaveLength(3);
  });

  it('may be overridden, for name and e-mail address of the same subject only', async () => {
    const provider = await openidProvider();
    provider.answers['me'] = json({ id: 'ann', sub: 'eve', label: 'Ann', mail: 'ann@example.com' });
    const mapping = { subject_fields: ['id'], name_fields: ['label'], email_fields: ['mail'] };
    const userinfo_override = { endpoint_url: provider.url('me'), field_mapping: mapping };
    const { upstream } = upstreamFor(oidcEntry(provider, { userinfo_override }));
    const { identity } = await upstream.login({ code: 'c' }, SECRETS);
    expect(plain(identity)).toEqual({ subject: 'ann', synthetic: false, name: 'Ann', email: 'ann@example.com' });
    provider.answers['me'] = json({ id: 'eve', sub: 'ann', label: 'Eve' });
    expect((await upstreamError(() => upstream.login({ code: 'c' }, SECRETS))).fault).toBe('bad_reply');
  });
});

describe('client authentication', () => {
  const basic = `Basic ${Buffer.from(`${CLIENT_ID}:s%2Fe+c%3Ar-3t`).toString('base64')}`;

  it.each([
    ['Basic when the metadata list no methods', undefined, basic, null],
    ['Basic when both methods are listed', ['client_secret_post', 'client_secret_basic'], basic, null],
    ['the form when Basic is not listed', ['private_key_jwt', 'client_secret_post'], undefined, 's/e c:r-3t'],
  ])('uses %s', async (_name, methods, authorization, inForm) => {
    const provider = await openidProvider({ token_endpoint_auth_methods_supported: methods });
    const client_secret_file = await fileWith(' s/e c:r-3t\n');
    const { upstream } = upstreamFor(oidcEntry(provider, { client_secret_file }));
    await upstream.login({ code: 'c' }, SECRETS);
    const request = provider.to('token')[0]!;
    expect(request.headers.authorization).toBe(authorization);
    expect(request.form.get('client_secret')).toBe(inForm);
  });

  it('fails without a method that both support', async () => {
    const provider = await openidProvider({ token_endpoint_auth_methods_supported: ['private_key_jwt'] });
    const { upstream } = upstreamFor(oidcEntry(provider, { client_secret_file: await fileWith('s') }));
    expect((await upstreamError(() => upstream.login({ code: 'c' }, SECRETS))).fault).toBe('misconfigured');
  });

  it('reads a changed secret file', async () => {
    const provider = await openidProvider({ token_endpoint_auth_methods_supported: ['client_secret_post'] });
    const client_secret_file = await fileWith('old');
    const { upstream, advance } = upstreamFor(oidcEntry(provider, { client_secret_file }));
    await upstream.login({ code: 'c' }, SECRETS);
    await writeFile(client_secret_file, 'new');
    advance(1_001);
    await upstream.login({ code: 'c' }, SECRETS);
    await writeFile(client_secret_file, '');
    advance(1_001);
    const error = await upstreamError(() => upstream.login({ code: 'c' }, SECRETS));
    expect(error).toMatchObject({ fault: 'misconfigured', message: expect.stringContaining(client_secret_file) });
    expect(provider.to('token').map(({ form }) => form.get('client_secret'))).toEqual(['old', 'new']);
  });

  it('reads the secret from the environment, and fails when it is missing', async () => {
    const provider = await openidProvider({ token_endpoint_auth_methods_supported: ['client_secret_post'] });
    const entry = oidcEntry(provider, { client_secret_env_var: 'IDP_SECRET' });
    const { upstream } = upstreamFor(entry, { readEnvironment: (name) => (name === 'IDP_SECRET' ? 'e' : undefined) });
    await upstream.login({ code: 'c' }, SECRETS);
    expect(provider.to('token')[0]!.form.get('client_secret')).toBe('e');
    const unset = upstreamFor(entry, { readEnvironment: () => undefined });
    const error = await upstreamError(() => unset.upstream.login({ code: 'c' }, SECRETS));
    expect(error).toMatchObject({ fault: 'misconfigured', message: expect.stringContaining('IDP_SECRET') });
  });
});

describe('a refresh at an OpenID provider', () => {
  const loggedIn = async () => {
    const provider = await openidProvider();
    const under = upstreamFor(oidcEntry(provider));
    const { grant } = await under.upstream.login({ code: 'c' }, SECRETS);
    const refresh = () => under.upstream.refresh({ grant, subject: 'ann' });
    return { provider, ...under, grant, refresh };
  };

  it('keeps the previous tokens that the reply omits', async () => {
    const { provider, grant, refresh } = await loggedIn();
    provider.answers['token'] = json({ access_token: 'access-2', token_type: 'Bearer', expires_in: 60 });
    const outcome = await refresh();
    if (outcome.outcome !== 'refreshed') throw new Error(outcome.reason);
    expect(outcome.rotated).toBe(false);
    expect(outcome.grant.accessToken.reveal()).toBe('access-2');
    expect(outcome.grant.refreshToken?.reveal()).toBe('refresh-1');
    expect(outcome.grant.idToken?.reveal()).toBe(grant.idToken?.reveal());
    expect(outcome.grant.idTokenExpiresAt).toBe(grant.idTokenExpiresAt);
    expect(Object.fromEntries(provider.to('token')[1]!.form)).toEqual({
      grant_type: 'refresh_token',
      refresh_token: 'refresh-1',
      client_id: CLIENT_ID,
    });
  });

  it('sends the configured scopes and parameters', async () => {
    const provider = await openidProvider();
    const asked = { scopes: ['openid', 'mail'], additional_token_params: { resource: 'https://api.example' } };
    const { upstream } = upstreamFor(oidcEntry(provider, asked));
    const { grant } = await upstream.login({ code: 'c' }, SECRETS);
    await upstream.refresh({ grant: { ...grant, scope: 'mail' }, subject: 'ann' });
    const forms = provider.to('token').map(({ form }) => Object.fromEntries(form));
    expect(forms).toMatchObject([
      asked.additional_token_params,
      { scope: 'openid mail', ...asked.additional_token_params },
    ]);
    expect(forms[0]).not.toHaveProperty('scope');
  });

  it('returns the tokens of the reply', async () => {
    const { provider, grant, refresh } = await loggedIn();
    provider.answers['token'] = tokens(provider, () => provider.idToken({ nonce: undefined, jti: '2' }), {
      refresh_token: 'refresh-2',
    });
    const outcome = await refresh();
    expect(outcome).toMatchObject({ outcome: 'refreshed', rotated: true });
    if (outcome.outcome !== 'refreshed') return;
    expect(outcome.grant.refreshToken?.reveal()).toBe('refresh-2');
    expect(outcome.grant.idToken?.reveal()).not.toBe(grant.idToken?.reveal());
  });

  const DEAD: readonly (readonly [string, (p: ScriptedProvider) => Answer])[] = [
    ['invalid_grant', () => json({ error: 'invalid_grant' }, 400)],
    ['an ID token of another user', (p) => tokens(p, () => p.idToken({ sub: 'bob', nonce: undefined }))],
  ];
  it.each(DEAD)('is dead after %s', async (_name, answer) => {
    const { provider, refresh } = await loggedIn();
    provider.answers['token'] = answer(provider);
    expect(await refresh()).toMatchObject({ outcome: 'dead' });
  });

  const LATER: readonly (readonly [string, (p: ScriptedProvider) => Answer])[] = [
    ['invalid_client', () => json({ error: 'invalid_client' }, 401, { 'www-authenticate': 'Basic realm="x"' })],
    ['500', () => raw(500, {}, 'x')],
    ['429', () => json({ error: 'slow_down' }, 429)],
    ['HTML', () => raw(200, { 'content-type': 'text/html' }, '<html>')],
    ['a foreign audience', (p) => tokens(p, () => p.idToken({ aud: 'another' }), { refresh_token: 'refresh-2' })],
    ['a reset', () => (res) => res.destroy()],
  ];
  it.each(LATER)('may succeed later after %s', async (_name, answer) => {
    const { provider, refresh } = await loggedIn();
    provider.answers['token'] = answer(provider);
    const outcome = await refresh();
    expect(outcome).toEqual({ outcome: 'unavailable', reason: expect.any(String) });
  });

  it('returns the rotated refresh token when only the keys are unavailable', async () => {
    const provider = await openidProvider();
    const { upstream } = upstreamFor(oidcEntry(provider));
    provider.answers['jwks'] = raw(503, {}, 'x');
    provider.answers['token'] = tokens(provider, undefined, { refresh_token: 'refresh-2' });
    const grant = { accessToken: new Secret('access-1'), refreshToken: new Secret('refresh-1') };
    const outcome = await upstream.refresh({ grant, subject: 'ann' });
    expect(outcome.outcome).toBe('unavailable');
    expect(outcome.outcome === 'unavailable' && outcome.rotated?.reveal()).toBe('refresh-2');
    await provider.stop();
    expect(await upstream.refresh({ grant, subject: 'ann' })).toEqual({
      outcome: 'unavailable',
      reason: expect.any(String),
    });
  });

  it.each([
    ['HTML', raw(200, { 'content-type': 'text/html' }, '<html>')],
    ['404', raw(404, {}, '')],
    ['a reset', ((res) => res.destroy()) satisfies Answer],
  ])('returns it when the keys are answered with %s', async (_name, jwks) => {
    const { provider, refresh } = await loggedIn();
    const key = newSigningKey('ES256', 'key-2');
    provider.answers['jwks'] = jwks;
    provider.answers['token'] = tokens(provider, () => provider.idToken({}, { key }), { refresh_token: 'refresh-2' });
    const known = await refresh();
    expect(known).toEqual({ outcome: 'unavailable', reason: expect.any(String) }); // the keys are fresh, so the signature is wrong
    const { upstream } = upstreamFor(oidcEntry(provider));
    const grant = { accessToken: new Secret('access-1'), refreshToken: new Secret('refresh-1') };
    const outcome = await upstream.refresh({ grant, subject: 'ann' });
    expect(outcome.outcome === 'unavailable' && outcome.rotated?.reveal()).toBe('refresh-2');
  });

  it('sends no request without a refresh token', async () => {
    const provider = await openidProvider();
    const { upstream } = upstreamFor(oidcEntry(provider));
    expect(await upstream.refresh({ grant: { accessToken: new Secret('a') }, subject: 'ann' })).toMatchObject({
      outcome: 'dead',
    });
    expect(provider.seen).toHaveLength(0);
  });
});

describe('the revocation at an OpenID provider', () => {
  const grant = { accessToken: new Secret('access-1') };

  it('uses the endpoint of the metadata', async () => {
    const provider = await openidProvider();
    const { upstream } = upstreamFor(oidcEntry(provider));
    expect(await upstream.revoke(grant)).toBe(false);
    const more = { revocation_endpoint: provider.url('revoke') };
    provider.answers['openid-configuration'] = (res, request) => json(metadataOf(provider, more))(res, request);
    provider.answers['revoke'] = raw(200, {});
    expect(await upstreamFor(oidcEntry(provider)).upstream.revoke(grant)).toBe(true);
    expect(provider.to('revoke')[0]!.form.get('token')).toBe('access-1');
  });
});

describe('discovery', () => {
  it('retries while the provider is down at the start, and keeps the metadata when it fails later', async () => {
    const provider = await openidProvider();
    await provider.stop();
    const { upstream, advance, logged } = upstreamFor(oidcEntry(provider));
    upstream.warmUp();
    expect(upstream.status()).toMatchObject({ ready: false });
    const error = await upstreamError(() => upstream.authorizationUrl(SECRETS));
    expect(clientAnswer(error.fault)).toBe('temporarily_unavailable');
    expect(upstream.status()).toMatchObject({ ready: false, reason: 'ProviderUnavailable' });
    await provider.start();
    await eventually('it is discovered', () => upstream.status().ready);
    expect(logged.filter((line) => line.includes('cannot be discovered')).length).toBeGreaterThan(0);
    await upstream.login({ code: 'c' }, SECRETS);
    await provider.stop();
    advance(3_600_001);
    expect(await upstream.authorizationUrl(SECRETS)).toContain(provider.url('authorize'));
  });

  it('is tried again when the status is read, which says since when it fails', async () => {
    const provider = await openidProvider();
    await provider.stop();
    const { upstream, advance } = upstreamFor(oidcEntry(provider));
    await upstreamError(() => upstream.authorizationUrl(SECRETS));
    const { since = 0 } = upstream.status();
    advance(60_000);
    await upstreamError(() => upstream.authorizationUrl(SECRETS));
    expect(upstream.status()).toMatchObject({ ready: false, since });
    await provider.start();
    advance(60_000);
    await eventually('it is discovered', () => upstream.status().ready);
    expect(upstream.status()).toEqual({ ready: true });
  });

  const BAD_METADATA: readonly (readonly [string, Claims, string])[] = [
    ['another issuer', { issuer: 'https://evil.example' }, 'issuer'],
    ['no authorization endpoint', { authorization_endpoint: undefined }, 'authorization_endpoint'],
    ['a script as authorization endpoint', { authorization_endpoint: 'javascript:alert(1)' }, 'authorization_endpoint'],
    ['an http authorization endpoint', { authorization_endpoint: 'http://idp.example/a' }, 'authorization_endpoint'],
    [
      'a client_id in the authorization endpoint',
      { authorization_endpoint: 'https://idp.example/a?client_id=x' },
      'client_id',
    ],
    ['no token endpoint', { token_endpoint: undefined }, 'token_endpoint'],
    ['a link-local token endpoint', { token_endpoint: 'https://169.254.169.254/token' }, 'token_endpoint'],
    ['a private token endpoint', { token_endpoint: 'https://10.0.0.1/token' }, 'token_endpoint'],
    ['an http token endpoint', { token_endpoint: 'http://idp.example/token' }, 'token_endpoint'],
    ['no jwks_uri', { jwks_uri: undefined }, 'jwks_uri'],
    [
      'methods that are not a list',
      { token_endpoint_auth_methods_supported: 7 },
      'token_endpoint_auth_methods_supported',
    ],
    ['scopes that are not texts', { scopes_supported: [{}] }, 'scopes_supported'],
    ['a userinfo endpoint that is not a text', { userinfo_endpoint: {} }, 'userinfo_endpoint'],
    ['a file: jwks_uri', { jwks_uri: 'file:///etc/passwd' }, 'jwks_uri'],
  ];
  it.each(BAD_METADATA)('rejects metadata with %s', async (_name, more, named) => {
    const provider = await openidProvider(more);
    const { upstream } = upstreamFor(oidcEntry(provider));
    const error = await upstreamError(() => upstream.authorizationUrl(SECRETS));
    expect(error.fault).toBe('bad_reply');
    expect(error.message).toContain(named);
    expect(error.message).not.toContain('evil');
  });

  it('rejects an issuer in another spelling', async () => {
    const provider = await openidProvider();
    provider.answers['openid-configuration'] = (res, request) =>
      json(metadataOf(provider, { issuer: `${provider.issuer}/` }))(res, request);
    const { upstream } = upstreamFor(oidcEntry(provider));
    const error = await upstreamError(() => upstream.authorizationUrl(SECRETS));
    expect(error).toMatchObject({
      fault: 'bad_reply',
      message: expect.stringContaining('set issuer_url to exactly that text'),
    });
    expect(upstream.status()).toMatchObject({ ready: false, reason: 'BadMetadata' });
  });

  it('sends one request for concurrent logins', async () => {
    const provider = await openidProvider();
    const { upstream } = upstreamFor(oidcEntry(provider));
    await Promise.all(Array.from({ length: 20 }, () => upstream.authorizationUrl(SECRETS)));
    expect(provider.to('openid-configuration')).toHaveLength(1);
  });
});
