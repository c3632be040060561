import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { Secret } from '../../contract/identity.ts';
import { CLIENT_ID, json, never, raw, scriptedProvider, SECRETS, type Answer } from './testdata/scripted-provider.ts';
import { fileWith, oauth2Entry, REDIRECT_URI, upstreamError, upstreamFor } from './testdata/upstream-under-test.ts';
import type { OAuth2ProviderConfig } from '../../contract/run-config/upstreams.ts';
import { clientAnswer } from './upstream-error.ts';

const GOOD = { access_token: 'access-1', token_type: 'bearer' };

/** Timeout, short in tests that wait for it, otherwise long enough for a busy machine. */
const patienceWith = (answer: Answer): number => (answer === never ? 300 : 5_000);

const providing = async (answers: Record<string, Answer>, config: Partial<OAuth2ProviderConfig> = {}, more = {}) => {
  const provider = await scriptedProvider();
  Object.assign(provider.answers, { token: json(GOOD), ...answers });
  return { provider, ...upstreamFor(oauth2Entry(provider, config), more) };
};

describe('a plain OAuth 2.0 provider', () => {
  it('always receives PKCE S256 and state, and neither nonce nor prompt', async () => {
    const { upstream, provider } = await providing(
      {},
      { scopes: ['repo', 'user'], additional_authorization_params: { owner: 'user' } },
    );
    const url = new URL(await upstream.authorizationUrl({ ...SECRETS, forceLogin: true }));
    expect(url.origin + url.pathname).toBe(provider.url('authorize'));
    expect(Object.fromEntries(url.searchParams)).toEqual({
      client_id: CLIENT_ID,
      response_type: 'code',
      redirect_uri: REDIRECT_URI,
      scope: 'repo user',
      state: SECRETS.state,
      code_challenge: createHash('sha256').update(SECRETS.codeVerifier).digest('base64url'),
      code_challenge_method: 'S256',
      owner: 'user',
    });
    expect(upstream.status()).toEqual({ ready: true });
  });

  it('supports nested tokens, with a new synthetic subject for each login', async () => {
    let count = 0;
    const token: Answer = (res, request) => {
      count += 1;
      const authed_user = {
        id: 'U1',
        access_token: `user-${String(count)}`,
        expires_in: '43200',
        scope: ['a', 'b'],
        tokens: [{ refresh: 'r' }],
      };
      return json({ ok: true, access_token: 'bot', token_type: 'bot', authed_user })(res, request);
    };
    const { upstream, now } = await providing(
      { token },
      {
        token_response_mapping: {
          access_token_path: 'authed_user.access_token',
          expires_in_path: 'authed_user.expires_in',
          refresh_token_path: 'authed_user.tokens.0.refresh',
          scope_path: 'authed_user.scope',
        },
      },
    );
    const first = await upstream.login({ code: 'c' }, SECRETS);
    expect(first.grant.accessToken.reveal()).toBe('user-1');
    expect(first.grant.refreshToken?.reveal()).toBe('r');
    expect(first.grant).toMatchObject({ expiresAt: now() + 43_200_000, scope: 'a b', idToken: undefined });
    expect(first.identity.synthetic).toBe(true);
    expect(first.identity.subject).toMatch(/^tk-[0-9a-f]{32}$/u);
    const second = await upstream.login({ code: 'c' }, SECRETS);
    expect(second.identity.subject).not.toBe(first.identity.subject);
  });

  it('may identify the user in its token reply', async () => {
    const identity_from_token = { subject_path: 'authed_user.id', name_path: 'authed_user.name' };
    const token = json({ ...GOOD, authed_user: { id: 42, name: 'Ann' } });
    const { upstream } = await providing({ token }, { identity_from_token });
    expect((await upstream.login({ code: 'c' }, SECRETS)).identity).toEqual({
      subject: '42',
      synthetic: false,
      name: 'Ann',
      email: undefined,
      claims: {}, // a token reply contains secrets
    });
    const nameless = await providing({}, { identity_from_token });
    expect((await upstreamError(() => nameless.upstream.login({ code: 'c' }, SECRETS))).fault).toBe('bad_reply');
  });

  const NOT_TAKEN: readonly (readonly [string, Answer, string])[] = [
    ['token_type mac', json({ ...GOOD, token_type: 'mac' }), 'server_error'],
    ['token_type DPoP', json({ ...GOOD, token_type: 'DPoP' }), 'server_error'],
    ['an empty token', json({ ...GOOD, access_token: '' }), 'server_error'],
    ['no token', json({ token_type: 'bearer' }), 'server_error'],
    ['a token with CR LF', json({ ...GOOD, access_token: 'a\r\nb: c' }), 'server_error'],
    ['2 MB', json({ ...GOOD, padding: 'x'.repeat(2 * 1024 * 1024) }), 'server_error'],
    ['200 with an error', json({ error: 'bad_verification_code', error_description: 'SAID' }), 'server_error'],
    ['ok: false', json({ ok: false, error: 'invalid_code' }), 'server_error'],
    ['a list', json([GOOD]), 'server_error'],
    [
      'form data instead of JSON',
      raw(200, { 'content-type': 'application/x-www-form-urlencoded' }, 'access_token=a'),
      'server_error',
    ],
    ['HTML', raw(200, { 'content-type': 'text/html' }, '<html>SAID</html>'), 'server_error'],
    ['nothing', raw(204, {}), 'server_error'],
    ['201', json(GOOD, 201), 'server_error'],
    ['a redirect', raw(302, { location: 'http://127.0.0.1:9/' }), 'server_error'],
    ['a redirect that resends the form', raw(307, { location: '/token2' }), 'server_error'],
    ['invalid_grant', json({ error: 'invalid_grant', error_description: 'SAID' }, 400), 'server_error'],
    ['an error that is not a text', json({ error: {} }, 400), 'server_error'],
    ['403 with HTML', raw(403, { 'content-type': 'text/html' }, 'SAID'), 'server_error'],
    ['429', json({ error: 'slow_down' }, 429), 'temporarily_unavailable'],
    ['500 with an error', json({ error: 'invalid_grant' }, 500), 'temporarily_unavailable'],
    ['502 with HTML', raw(502, { 'content-type': 'text/html' }, 'SAID'), 'temporarily_unavailable'],
    ['a reset', (res) => res.destroy(), 'temporarily_unavailable'],
    ['no answer', never, 'temporarily_unavailable'],
  ];
  it.each(NOT_TAKEN)('fails the login when the token endpoint answers with %s', async (_name, token, answer) => {
    const { upstream, provider } = await providing({ token }, {}, { timeoutMs: patienceWith(token) });
    const error = await upstreamError(() => upstream.login({ code: 'the-code' }, SECRETS));
    expect(clientAnswer(error.fault)).toBe(answer);
    expect(error.message).not.toMatch(/SAID|the-code|vvv/u);
    expect(provider.seen.map(({ endpoint }) => endpoint)).toEqual(['token']);
  });

  it('receives the secret by Basic, or in the form when it rejects Basic', async () => {
    const token: Answer = (res, request) =>
      (request.form.get('client_secret') === 's' ? json(GOOD) : json({ error: 'incorrect_client_credentials' }))(
        res,
        request,
      );
    const { upstream, provider } = await providing({ token }, { client_secret_file: await fileWith('s') });
    await upstream.login({ code: 'c' }, SECRETS);
    await upstream.login({ code: 'c' }, SECRETS);
    const how = provider
      .to('token')
      .map(({ headers, form }) => [headers.authorization?.split(' ')[0], form.get('client_secret')]);
    expect(how).toEqual([
      ['Basic', null],
      [undefined, 's'],
      [undefined, 's'],
    ]);
    provider.answers['token'] = json({ error: 'invalid_client' }, 401, { 'www-authenticate': 'Basic' });
    const error = await upstreamError(() => upstream.login({ code: 'c' }, SECRETS));
    expect(error).toMatchObject({ fault: 'misconfigured', providerError: 'invalid_client' });
  });
});

describe('userinfo of a plain OAuth 2.0 provider', () => {
  const asking = async (
    user: Answer,
    userinfo: Omit<NonNullable<OAuth2ProviderConfig['userinfo']>, 'endpoint_url'> = {},
  ) => {
    const provider = await scriptedProvider();
    Object.assign(provider.answers, { token: json(GOOD), user });
    const config = { userinfo: { endpoint_url: provider.url('user'), ...userinfo } };
    return { provider, ...upstreamFor(oauth2Entry(provider, config), { timeoutMs: patienceWith(user) }) };
  };

  it('identifies the user, by GET or POST, with additional headers', async () => {
    const mapping = { subject_fields: ['node.id', 'id'], name_fields: ['name', 'login'], email_fields: ['email'] };
    const user = json({ id: 583_231, login: 'octocat', name: null, email: 'ann@example.com' });
    const headers = { Accept: 'application/vnd.github+json', 'X-GitHub-Api-Version': '2022-11-28' };
    const { upstream, provider } = await asking(user, { field_mapping: mapping, additional_headers: headers });
    const { identity } = await upstream.login({ code: 'c' }, SECRETS);
    expect(identity).toEqual({
      ...{ subject: '583231', synthetic: false, name: 'octocat', email: 'ann@example.com' },
      claims: { id: 583_231, login: 'octocat', name: null, email: 'ann@example.com' },
    });
    expect(provider.to('user')[0]).toMatchObject({
      method: 'GET',
      headers: {
        authorization: 'Bearer access-1',
        accept: 'application/vnd.github+json',
        'x-github-api-version': '2022-11-28',
      },
    });
    const posting = await asking(json({ sub: 'ann' }), { http_method: 'POST' });
    await posting.upstream.login({ code: 'c' }, SECRETS);
    expect(posting.provider.to('user')[0]).toMatchObject({
      method: 'POST',
      headers: { authorization: 'Bearer access-1' },
    });
  });

  it('keeps user ids beyond 2^53 exact', async () => {
    const ids = ['9007199254740992', '9007199254740993', '18446744073709551617'];
    const { upstream, provider } = await asking(raw(200, {}, ''), { field_mapping: { subject_fields: ['id'] } });
    const subjects: string[] = [];
    for (const id of ids) {
      provider.answers['user'] = raw(200, { 'content-type': 'application/json' }, `{"id": ${id}, "name": "Ann"}`);
      subjects.push((await upstream.login({ code: 'c' }, SECRETS)).identity.subject);
    }
    expect(subjects).toEqual(ids);
  });

  it('keeps a user id beyond 2^53 in a token reply exact', async () => {
    const provider = await scriptedProvider();
    const reply = '{"access_token": "access-1", "token_type": "bearer", "user": {"id": 9007199254740993}}';
    provider.answers['token'] = raw(200, { 'content-type': 'application/json' }, reply);
    const { upstream } = upstreamFor(oauth2Entry(provider, { identity_from_token: { subject_path: 'user.id' } }));
    expect((await upstream.login({ code: 'c' }, SECRETS)).identity.subject).toBe('9007199254740993');
  });

  const FAILING: readonly (readonly [string, Answer, string])[] = [
    ['an object as subject', json({ sub: { id: 1 } }), 'server_error'],
    ['a list as subject', json({ sub: ['ann'] }), 'server_error'],
    ['an empty subject', json({ sub: '' }), 'server_error'],
    ['no subject', json({}), 'server_error'],
    ['1e21', raw(200, {}, '{"sub": 1e21}'), 'server_error'],
    ['__proto__', raw(200, {}, '{"__proto__": {"sub": "ann"}}'), 'server_error'],
    ['a list', json([{ sub: 'ann' }]), 'server_error'],
    ['a truncated document', raw(200, { 'content-type': 'application/json' }, '{"sub": "SAID'), 'server_error'],
    ['HTML', raw(200, { 'content-type': 'text/html' }, '<html>SAID'), 'server_error'],
    ['2 MB', json({ sub: 'ann', padding: 'x'.repeat(2 * 1024 * 1024) }), 'server_error'],
    ['401', json({ sub: 'ann' }, 401), 'server_error'],
    ['201', json({ sub: 'ann' }, 201), 'server_error'],
    ['a redirect', raw(302, { location: '/user2' }), 'server_error'],
    ['503', raw(503, {}, 'SAID'), 'temporarily_unavailable'],
    ['no answer', never, 'temporarily_unavailable'],
  ];
  it.each(FAILING)('fails the login with %s', async (_name, user, answer) => {
    const { upstream, provider } = await asking(user);
    const error = await upstreamError(() => upstream.login({ code: 'c' }, SECRETS));
    expect(clientAnswer(error.fault)).toBe(answer);
    expect(error.message).not.toMatch(/SAID|access-1/u);
    expect(provider.to('user2')).toHaveLength(0);
  });

  it('gives two subjects for one e-mail address at two providers', async () => {
    const [github, gitlab] = await Promise.all(
      ['1', '2'].map((sub) => asking(json({ sub, email: 'ann@example.com' }))),
    );
    const subjects = await Promise.all(
      [github!, gitlab!].map(async ({ upstream }) => (await upstream.login({ code: 'c' }, SECRETS)).identity),
    );
    expect(subjects.map(({ subject }) => subject)).toEqual(['1', '2']);
  });

  it('identifies the current user, not the previous one', async () => {
    const { upstream, provider } = await asking(json({ sub: 'ann' }));
    expect((await upstream.login({ code: 'c' }, SECRETS)).identity.subject).toBe('ann');
    provider.answers['user'] = json({ sub: 'bob' });
    expect((await upstream.login({ code: 'c' }, SECRETS)).identity.subject).toBe('bob');
  });
});

describe('tokens of a plain OAuth 2.0 provider', () => {
  const grant = { accessToken: new Secret('access-1'), refreshToken: new Secret('refresh-1'), scope: 's' };

  it('are refreshed through the same mapping', async () => {
    const token = json({ ok: true, u: { t: 'access-2', r: 'refresh-2' } });
    const mapping = { access_token_path: 'u.t', refresh_token_path: 'u.r' };
    const { upstream } = await providing({ token }, { token_response_mapping: mapping });
    const outcome = await upstream.refresh({ grant, subject: 'x' });
    if (outcome.outcome !== 'refreshed') throw new Error(outcome.reason);
    expect(outcome.rotated).toBe(true);
    expect(outcome.grant.scope).toBe('s');
    expect([outcome.grant.accessToken.reveal(), outcome.grant.refreshToken?.reveal()]).toEqual([
      'access-2',
      'refresh-2',
    ]);
  });

  it('are requested with the configured parameters, for a code and by a refresh', async () => {
    const additional_token_params = { resource: 'https://api.example', audience: 'a b' };
    const { upstream, provider } = await providing({}, { additional_token_params });
    await upstream.login({ code: 'c' }, SECRETS);
    await upstream.refresh({ grant, subject: 'x' });
    const forms = provider.to('token').map(({ form }) => Object.fromEntries(form));
    expect(forms).toMatchObject([
      { grant_type: 'authorization_code', code: 'c', ...additional_token_params },
      { grant_type: 'refresh_token', refresh_token: 'refresh-1', ...additional_token_params },
    ]);
    expect(await upstream.authorizationUrl(SECRETS)).not.toContain('resource');
  });

  it.each<[string, Partial<OAuth2ProviderConfig>, string | undefined, string | null]>([
    ['all of them were granted', { scopes: ['repo', 'user'] }, 'user repo gist', 'repo user'],
    ['the list is separated by commas', { scopes: ['repo', 'user'] }, 'repo,user', 'repo user'],
    ['offline_access is granted without being listed', { scopes: ['a', 'offline_access'] }, 'a', 'a offline_access'],
    ['fewer were granted', { scopes: ['repo', 'user'] }, 'repo', null],
    ['the provider does not list the granted scopes', { scopes: ['repo'] }, undefined, null],
    ['none are requested', {}, 'repo', null],
    ['omit_scope_on_refresh is set', { scopes: ['repo'], omit_scope_on_refresh: true }, 'repo', null],
  ])('are refreshed with or without scopes when %s', async (_name, config, scope, sent) => {
    const { upstream, provider } = await providing({}, config);
    expect(await upstream.refresh({ grant: { ...grant, scope }, subject: 'x' })).toMatchObject({
      outcome: 'refreshed',
    });
    expect(provider.to('token')[0]?.form.get('scope')).toBe(sent);
  });

  it.each([
    ['GitHub', { error: 'bad_refresh_token' }, 200, 'dead'],
    ['Slack', { ok: false, error: 'invalid_refresh_token' }, 200, 'dead'],
    ['the standard', { error: 'invalid_grant' }, 400, 'dead'],
    ['an internal error with 200', { ok: false, error: 'internal_error' }, 200, 'unavailable'],
    ['invalid_client', { error: 'invalid_client' }, 401, 'unavailable'],
    ['invalid_grant with 500', { error: 'invalid_grant' }, 500, 'unavailable'],
    ['Dex', { error: 'invalid_request', error_description: 'Refresh token is invalid or has already been claimed by another client.' }, 400, 'dead'], // oxfmt-ignore
    ['a proxy of its own', { error: 'invalid_token' }, 401, 'dead'],
    ['a provider with another code', { error: 'token_expired' }, 400, 'dead'],
    ['a provider that refuses the scopes', { error: 'invalid_scope' }, 400, 'dead'],
    ['a provider without a code', { message: 'no' }, 400, 'dead'],
    ['Atlassian', { error: 'unauthorized_client', error_description: 'refresh_token is invalid' }, 403, 'dead'],
    ['a firewall', { message: 'blocked' }, 403, 'unavailable'],
    ['a failing provider', { error: 'server_error' }, 400, 'unavailable'],
    ['a busy provider', { error: 'temporarily_unavailable' }, 400, 'unavailable'],
    ['a busy provider by status', { error: 'invalid_request' }, 429, 'unavailable'],
    ['a moved endpoint', { error: 'not_found' }, 404, 'unavailable'],
  ])('report the outcome of a failed refresh by the error of %s', async (_name, body, status, outcome) => {
    const { upstream } = await providing({ token: json(body, status) });
    expect(await upstream.refresh({ grant, subject: 'x' })).toMatchObject({ outcome });
  });

  it('are refreshed by a provider that rejects the first request because of Basic, without naming the client', async () => {
    const token: Answer = (res, request) =>
      (request.form.get('client_secret') === 's' ? json(GOOD) : json({ error: 'invalid_request' }, 400))(res, request);
    const { upstream, provider } = await providing({ token }, { client_secret_file: await fileWith('s') });
    expect(await upstream.refresh({ grant, subject: 'x' })).toMatchObject({ outcome: 'refreshed' });
    provider.answers['token'] = json({ error: 'invalid_request' }, 400);
    expect(await upstream.refresh({ grant, subject: 'x' })).toMatchObject({ outcome: 'dead', superseded: true });
    expect(provider.to('token')).toHaveLength(3);
  });

  it('are revoked if there is an endpoint, without failing on errors', async () => {
    const provider = await scriptedProvider();
    provider.answers['revoke'] = raw(200, {});
    const { upstream, logged } = upstreamFor(oauth2Entry(provider, { revocation_endpoint: provider.url('revoke') }));
    expect(await upstream.revoke(grant)).toBe(true);
    const forms = provider.to('revoke').map(({ form }) => Object.fromEntries(form));
    expect(forms).toEqual([
      { token: 'refresh-1', token_type_hint: 'refresh_token', client_id: CLIENT_ID },
      { token: 'access-1', token_type_hint: 'access_token', client_id: CLIENT_ID },
    ]);
    provider.answers['revoke'] = raw(503, {}, 'x');
    expect(await upstream.revoke(grant)).toBe(false);
    await provider.stop();
    expect(await upstream.revoke(grant)).toBe(false);
    expect(logged.join()).not.toMatch(/refresh-1|access-1/u);
    expect(await (await providing({})).upstream.revoke(grant)).toBe(false);
  });

  it('are revoked within 5 s or not at all', async () => {
    const provider = await scriptedProvider();
    provider.answers['revoke'] = never;
    const { upstream } = upstreamFor(oauth2Entry(provider, { revocation_endpoint: provider.url('revoke') }));
    const before = performance.now();
    expect(await upstream.revoke(grant)).toBe(false);
    expect(performance.now() - before).toBeLessThan(8_000);
  });
});
