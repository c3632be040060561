import { onTestFinished, describe, expect, it } from 'vitest';
import { startIdentityProvider } from '../../../../examples/identity-provider/provider.ts';
import { isGenuine } from '../../core/opaque-token.ts';
import { fileWith, oidcEntry } from '../../upstream/testdata/upstream-under-test.ts';
import { browserServer, CLIENT, CLIENT_REDIRECT, RESOURCE, type BrowserServer } from '../testdata/browser-server.ts';
import { scriptedOauth2, scriptedOidc } from '../testdata/scripted-login.ts';

/** Returns the grant stored with the code of a login. */
async function grantOf(server: BrowserServer, end: string) {
  const code = new URL(end).searchParams.get('code') ?? '';
  expect(isGenuine('code', code, server.context.secrets())).toBe(true);
  const taken = await server.store.codes.take(code, 1_000);
  if (taken.kind !== 'taken') throw new Error('there is no such code');
  return taken.grant;
}

/** `corp` identifies the user, `git` is second. */
async function chain(settings: Parameters<typeof browserServer>[1] = {}) {
  const [corp, git] = [await scriptedOidc('corp'), await scriptedOauth2('git')];
  const server = await browserServer(() => ({ corp: corp.entry, git: git.entry }), settings);
  return { corp, git, server };
}

describe('a login in a browser', () => {
  it('passes consent and every provider in order, and returns to the client with a code', async () => {
    const { corp, git, server } = await chain();
    const browser = server.browser();
    const consent = await browser.visit(server.authorizeUrl({ nonce: 'n-1', scope: 'openid tools' }));
    expect([consent.status, consent.headers.getSetCookie().length]).toEqual([200, 1]);
    for (const part of [
      'Claude &lt;b&gt;Code&lt;/b&gt;',
      'client.example',
      'know that it is you',
      RESOURCE,
      new URL(corp.issuer).host,
    ])
      expect(consent.page).toContain(part);
    expect(consent.page.indexOf(new URL(corp.issuer).host)).toBeLessThan(
      consent.page.indexOf(new URL(git.issuer).host),
    );
    expect(corp.provider.to('token')).toEqual([]);
    const form = browser.fill(consent.page, consent.url, '');
    const first = await browser.visit(form.url, form.body, { 'sec-fetch-site': 'same-origin', origin: 'null' });
    expect(first.status).toBe(303);
    expect(first.location?.startsWith(corp.provider.url('authorize'))).toBe(true);
    const second = await browser.visit(
      corp.callbackFor(first.location ?? '', { claims: { name: 'Ann', email: 'a@b.c' } }),
    );
    expect(second.location?.startsWith(git.provider.url('authorize'))).toBe(true);
    const end = await browser.visit(git.callbackFor(second.location ?? '', { subject: '4711' }));
    expect(end.status).toBe(303);
    expect(end.location).toMatch(/^https:\/\/client\.example\/cb\?from=vmcp&code=vac_/u);
    const answer = new URL(end.location ?? '').searchParams;
    expect([answer.get('state'), answer.get('iss')]).toEqual(['state of the client', server.issuer]);
    expect([...browser.cookies.keys()].filter((name) => name.includes('flow'))).toEqual([]);
    const grant = await grantOf(server, end.location ?? '');
    expect(grant).toMatchObject({
      ...{ clientId: CLIENT.client_id, scopes: ['openid', 'tools'], resource: RESOURCE, nonce: 'n-1' },
      ...{ redirectUri: CLIENT_REDIRECT, login: { name: 'Ann', email: 'a@b.c' } },
    });
    expect(grant.login.userId).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/u);
    const rows = await server.store.upstreamTokens.all(grant.tsid);
    expect(rows.map(({ provider, upstreamSubject, userId }) => [provider, upstreamSubject, userId])).toEqual([
      ['corp', 'ann', grant.login.userId],
      ['git', '4711', grant.login.userId],
    ]);
    expect(server.events.map(([event]) => event)).toEqual([
      ...['consent_granted', 'login_leg_ok', 'login_leg_ok', 'code_issued'],
    ]);
  });

  it('accepts the authorization request as a form too', async () => {
    const { server } = await chain();
    const url = new URL(server.authorizeUrl());
    const answer = await server.browser().visit(`${server.issuer}/oauth/authorize`, url.search.slice(1));
    expect([answer.status, answer.page.includes('name="decision"')]).toEqual([200, true]);
  });

  it('shows the consent page at the consent origin when the authorization origin differs', async () => {
    const { corp, server } = await chain({ elsewhere: true });
    const browser = server.browser();
    const asked = await browser.visit(server.authorizeUrl());
    expect([asked.status, asked.headers.getSetCookie()]).toEqual([303, []]);
    expect(asked.location?.startsWith(`${server.issuer}/oauth/consent?transaction=`)).toBe(true);
    const consent = await browser.visit(asked.location ?? '');
    const form = browser.fill(consent.page, consent.url, '');
    const { location = '' } = await browser.visit(form.url, form.body);
    expect(location.startsWith(corp.provider.url('authorize'))).toBe(true);
  });

  it('resolves the same user again when other claims change', async () => {
    const { corp, git, server } = await chain({ settings: { reuseUpstreamTokens: false } });
    const run = async (email: string) => {
      const browser = server.browser();
      const first = await browser.visit(corp.callbackFor(await server.toProvider(browser), { claims: { email } }));
      const end = await browser.visit(git.callbackFor(first.location ?? ''));
      return (await grantOf(server, end.location ?? '')).login;
    };
    const [one, other] = [await run('old@corp.example'), await run('new@corp.example')];
    expect(other.userId).toBe(one.userId);
    expect([one.email, other.email]).toEqual(['old@corp.example', 'new@corp.example']);
  });

  it('creates a new user at each login without a subject', async () => {
    const nobody = await scriptedOauth2('nobody', { synthetic: true });
    const server = await browserServer(() => ({ nobody: nobody.entry }));
    const run = async () => {
      const browser = server.browser();
      const end = await browser.visit(nobody.callbackFor(await server.toProvider(browser)));
      return (await grantOf(server, end.location ?? '')).login.userId;
    };
    const [one, other] = [await run(), await run()];
    expect(one).toMatch(/^tk-[\da-f]{32}$/u);
    expect(other).not.toBe(one);
    expect(await server.store.users.get(one)).toBeUndefined();
    expect(server.events.filter(([event]) => event === 'login_leg_ok').map(([, { synthetic }]) => synthetic)).toEqual([
      true,
      true,
    ]);
  });

  it('works in a real browser with two chained oidc-providers', async () => {
    const idps = await Promise.all(
      [0, 1].map(() => startIdentityProvider({ port: 0, opaque: false, accessTokenSeconds: 60, log: () => undefined })),
    );
    for (const idp of idps) onTestFinished(() => idp.close());
    const register = async (issuer: string, redirectUri: string) => {
      const response = await fetch(`${issuer}/reg`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ redirect_uris: [redirectUri], grant_types: ['authorization_code', 'refresh_token'] }),
      });
      const { client_id, client_secret } = (await response.json()) as { client_id: string; client_secret: string };
      return oidcEntry(
        { issuer },
        { client_id, client_secret_file: await fileWith(client_secret), scopes: ['openid', 'email'] },
      );
    };
    const server = await browserServer(async (callbackUrl) => {
      const [one, two] = await Promise.all(idps.map(({ issuer }) => register(issuer, callbackUrl)));
      if (!one || !two) throw new Error('a provider is missing');
      return { one, two };
    });
    const end = await server.browser().login(server.authorizeUrl(), 'ann');
    const grant = await grantOf(server, end.href);
    expect(grant.login.email).toBe('ann@example.com');
    const rows = await server.store.upstreamTokens.all(grant.tsid);
    expect(rows.map(({ provider, upstreamSubject }) => [provider, upstreamSubject])).toEqual([
      ['one', 'ann'],
      ['two', 'ann'],
    ]);
    expect(rows.every(({ refreshToken, idToken }) => refreshToken !== undefined && idToken !== undefined)).toBe(true);
  });

  it('registers at an oidc-provider first, and answers the usual error while that is down', async () => {
    const started = await startIdentityProvider({
      port: 0,
      opaque: false,
      accessTokenSeconds: 60,
      log: () => undefined,
    });
    const { issuer } = started;
    onTestFinished(() => started.close());
    const at = (registrationEndpoint: string) => () => ({
      notes: {
        ...{ name: 'notes', type: 'oauth2' },
        oauth2_config: {
          ...{ authorization_endpoint: `${issuer}/auth`, token_endpoint: `${issuer}/token`, scopes: ['openid'] },
          dcr_config: { registration_endpoint: registrationEndpoint },
        },
      },
    });
    const server = await browserServer(at(`${issuer}/reg`));
    const end = await server.browser().login(server.authorizeUrl(), 'ann');
    const [row] = await server.store.upstreamTokens.all((await grantOf(server, end.href)).tsid);
    const notes = server.context.upstreams.get('notes');
    expect([row?.upstreamClientId, row?.accessToken]).toEqual([notes?.clientId, expect.stringMatching(/./u)]);
    expect(row?.upstreamClientId).not.toBe('');
    const down = await browserServer(at('http://127.0.0.1:9/reg'));
    const refused = await down.toProvider(down.browser());
    expect(new URL(refused).searchParams.get('error')).toBe('temporarily_unavailable');
  });

  it('writes no token, code, verifier, state, nonce, cookie or tsid into events and log lines (row 57)', async () => {
    const { corp, git, server } = await chain();
    const browser = server.browser();
    const location = await server.toProvider(browser);
    const cookie = [...browser.cookies].find(([name]) => name.includes('flow'))?.[1] ?? 'none';
    const handle = new URL(location).searchParams.get('state') ?? '';
    const attempt = await server.store.loginAttempts.get(handle);
    const first = corp.callbackFor(location, { reply: { access_token: 'upstream-secret-1' } });
    const next = await browser.visit(first);
    const end = await browser.visit(
      git.callbackFor(next.location ?? '', { reply: { error: 'boom upstream-secret-2' } }),
    );
    expect(new URL(end.location ?? '').searchParams.get('error')).toBe('server_error');
    const { tsid = '', leg } = attempt ?? {};
    const all = JSON.stringify([server.events, server.logged]);
    expect(server.logged.length).toBeGreaterThan(0);
    for (const secret of [
      cookie,
      handle,
      tsid,
      leg?.codeVerifier ?? '',
      leg?.nonce ?? '',
      'upstream-secret-1',
      first,
    ]) {
      expect(secret.length).toBeGreaterThan(15);
      expect(all).not.toContain(secret);
    }
  });
});
