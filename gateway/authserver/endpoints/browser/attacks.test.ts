import { describe, expect, it } from 'vitest';
import type { Browser } from '../../upstream/testdata/browser.ts';
import { json, raw } from '../../upstream/testdata/scripted-provider.ts';
import {
  browserServer,
  CLIENT,
  CLIENT_REDIRECT,
  handleOf,
  type BrowserServer,
  type ServerOptions,
} from '../testdata/browser-server.ts';
import { scriptedOauth2, scriptedOidc, type LoginAt } from '../testdata/scripted-login.ts';

async function chain(options: ServerOptions = {}) {
  const [corp, git] = [await scriptedOidc('corp'), await scriptedOauth2('git')];
  const server = await browserServer(() => ({ corp: corp.entry, git: git.entry }), options);
  return { corp, git, server };
}

async function single(options: ServerOptions = {}) {
  const corp = await scriptedOidc('corp');
  return { corp, server: await browserServer(() => ({ corp: corp.entry }), options) };
}

const errorOf = (location: string | undefined) => Object.fromEntries(new URL(location ?? '').searchParams);
const flowCookies = (browser: Browser) => [...browser.cookies.keys()].filter((name) => name.includes('vmcp-flow-'));

/** Returns the response parameters that the client receives. */
const toClient = (error: string, server: BrowserServer) => ({
  ...{ error, state: 'state of the client', iss: server.issuer, from: 'vmcp' },
  error_description: expect.any(String) as string,
});

/** Expects that the login attempt of this state has no code and no tokens. */
async function nothingKept(server: BrowserServer, tsid: string) {
  expect(await server.store.upstreamTokens.all(tsid)).toEqual([]);
  expect(server.events.map(([event]) => event)).not.toContain('code_issued');
}

async function tsidOf(server: BrowserServer, location: string): Promise<string> {
  const attempt = await server.store.loginAttempts.get(handleOf(location, server));
  if (!attempt) throw new Error('there is no such login attempt');
  return attempt.tsid;
}

describe('consent', () => {
  it('row 1: is required before any redirect to a provider, with the CSRF token of the page', async () => {
    const { corp, server } = await single();
    const browser = server.browser();
    const { page, url, headers } = await server.toConsent(browser);
    expect(corp.provider.seen.filter(({ endpoint }) => endpoint !== 'openid-configuration')).toEqual([]);
    const { url: action, body } = browser.fill(page, url, '');
    const form = new URLSearchParams(body);
    form.delete('csrf');
    expect((await browser.visit(action, form.toString())).status).toBe(403);
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'"); // row 5
    expect(headers.get('x-frame-options')).toBe('DENY');
    expect(headers.get('cache-control')).toBe('no-store'); // row 64
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(page).not.toContain('<b>Code'); // row 6
  });

  it('row 4: is rejected from another site or browser, for another login attempt, and the second time', async () => {
    const { server } = await single();
    const [browser, stranger] = [server.browser(), server.browser()];
    const mine = await server.toConsent(browser);
    const other = await server.toConsent(browser);
    const form = browser.fill(mine.page, mine.url, '');
    const body = new URLSearchParams(form.body);
    body.set('csrf', new URLSearchParams(browser.fill(other.page, other.url, '').body).get('csrf') ?? '');
    const refused = [
      await browser.visit(form.url, form.body, { 'sec-fetch-site': 'cross-site' }),
      await browser.visit(form.url, form.body, { 'sec-fetch-site': 'same-site' }),
      await browser.visit(form.url, form.body, { origin: 'https://evil.example' }),
      await stranger.visit(form.url, form.body, { 'sec-fetch-site': 'same-origin' }),
      await browser.visit(form.url, body.toString()),
    ];
    expect(refused.map(({ status, location }) => [status, location])).toEqual(refused.map(() => [403, undefined]));
    expect((await browser.visit(form.url, form.body)).status).toBe(303);
    expect((await browser.visit(form.url, form.body)).status).toBe(403);
    expect(server.events.filter(([event]) => event === 'login_foreign_browser')).toHaveLength(1);
  });

  it('is shown to the first browser that opens the page only', async () => {
    const { server } = await single({ elsewhere: true });
    const [first, second] = [server.browser(), server.browser()];
    const { location = '' } = await first.visit(server.authorizeUrl());
    expect((await first.visit(location)).status).toBe(200);
    expect((await first.visit(location)).status).toBe(200);
    const foreign = await second.visit(location);
    expect([foreign.status, flowCookies(second)]).toEqual([400, []]);
    expect(foreign.page).toContain('did not begin in this browser');
  });

  it('is shown to one of two browsers that open the page at once', async () => {
    const { server } = await single({ elsewhere: true });
    const browsers = Array.from({ length: 10 }, () => server.browser());
    const { location = '' } = await server.browser().visit(server.authorizeUrl());
    const seen = await Promise.all(browsers.map((browser) => browser.visit(location)));
    expect(seen.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(browsers.filter((browser) => flowCookies(browser).length > 0)).toHaveLength(1);
  });

  it('that is denied redirects to the client and ends the login attempt', async () => {
    const { corp, server } = await single();
    const browser = server.browser();
    const { page, url } = await server.toConsent(browser);
    const form = browser.fill(page, url, '');
    const denied = await browser.visit(form.url, form.body.replace('approve', 'deny'));
    expect(errorOf(denied.location)).toEqual(toClient('access_denied', server));
    expect(flowCookies(browser)).toEqual([]);
    expect((await browser.visit(form.url, form.body)).status).toBe(403);
    expect(corp.provider.to('token')).toEqual([]);
  });

  it('is remembered in this browser for 30 days, for the same client, host, scopes and resource', async () => {
    const { server } = await single();
    const browser = server.browser();
    await server.toProvider(browser);
    const asks = async (changes: Readonly<Record<string, string>> = {}, other = browser) =>
      (await server.toConsent(other, changes)).status === 200;
    expect(await asks()).toBe(false);
    expect(await asks({ scope: 'tools' })).toBe(true);
    expect(await asks({ redirect_uri: 'http://127.0.0.1:7001/cb' })).toBe(true);
    expect(await asks({ prompt: 'consent' })).toBe(true);
    expect(await asks({}, server.browser())).toBe(true);
    server.advance(30 * 86_400_000 + 1_000);
    await server.store.clients.put(CLIENT, 86_400_000);
    expect(await asks()).toBe(true);
  });

  it('is not remembered from a forged cookie', async () => {
    const { server } = await single();
    const browser = server.browser();
    await server.toProvider(browser);
    const [name, value = ''] = [...browser.cookies].find(([key]) => key.includes('consent')) ?? [];
    const asks = async (forged: string) => {
      const cookie = `${name ?? ''}=${forged}`;
      return (await server.browser().visit(server.authorizeUrl(), undefined, { cookie })).status === 200;
    };
    expect(await asks(value)).toBe(false);
    expect(await asks(value.replace(/^\d+/u, '99999999999'))).toBe(true);
    const [end = '', tag = '', ofClient = ''] = value.split('.');
    expect(await asks(`${end}.${tag.startsWith('A') ? 'B' : 'A'}${tag.slice(1)}.${ofClient}`)).toBe(true);
    expect(await asks(`${end}.${ofClient}.${tag}`)).toBe(true);
  });

  it.each([
    ['always', true, true],
    ['remember', false, false],
    ['trusted-only', false, true],
  ] as const)(
    'with mode %s is required of a trusted client: %s, and again after approval: %s',
    async (mode, trusted, again) => {
      const trustedClients = new Set(['vcl_1']);
      const forTrusted = await single({ settings: { consent: { mode, trustedClients } } });
      expect((await forTrusted.server.toConsent(forTrusted.server.browser())).status === 200).toBe(trusted);
      const forOthers = await single({ settings: { consent: { mode, trustedClients: new Set() } } });
      const browser = forOthers.server.browser();
      await forOthers.server.toProvider(browser);
      expect((await forOthers.server.toConsent(browser)).status === 200).toBe(again);
    },
  );

  it('is never remembered for a private-use URI scheme', async () => {
    const { server } = await single();
    const browser = server.browser();
    await server.toProvider(browser, { redirect_uri: 'cursor://app/cb' });
    expect((await server.toConsent(browser, { redirect_uri: 'cursor://app/cb' })).status).toBe(200);
  });
});

describe('the callback', () => {
  it('rows 2, 3: in another browser changes nothing, and the first browser can still finish', async () => {
    const { corp, server } = await single();
    const [attacker, victim] = [server.browser(), server.browser()];
    const upstreamUrl = await server.toProvider(attacker);
    await server.toProvider(victim); // has a cookie, of another login attempt
    const callback = corp.callbackFor(upstreamUrl, { subject: 'victim' });
    for (const browser of [victim, server.browser()]) {
      const answer = await browser.visit(callback);
      expect([answer.status, answer.location]).toEqual([400, undefined]);
      expect(answer.page).toContain('did not begin in this browser');
    }
    await nothingKept(server, await tsidOf(server, upstreamUrl));
    expect(corp.exchanged).toEqual([]);
    expect(server.events.filter(([event]) => event === 'login_foreign_browser')).toHaveLength(2);
    expect((await attacker.visit(callback)).location).toContain('&code=vac_');
  });

  it('finishes two login attempts of one browser in any order, each with its own cookie', async () => {
    const { corp, git, server } = await chain();
    const browser = server.browser();
    const [one, two] = [await server.toProvider(browser), await server.toProvider(browser)];
    expect(flowCookies(browser)).toHaveLength(2);
    const legs = [await browser.visit(corp.callbackFor(two)), await browser.visit(corp.callbackFor(one))];
    for (const { location } of legs)
      expect((await browser.visit(git.callbackFor(location ?? ''))).location).toContain('&code=vac_');
    expect(flowCookies(browser)).toEqual([]);
  });

  it('row 30: is accepted once, even in parallel requests, and only with the state of a running leg', async () => {
    const { corp, server } = await single();
    const browser = server.browser();
    const upstreamUrl = await server.toProvider(browser);
    expect(new URL(upstreamUrl).searchParams.get('state')).toMatch(/^[\w-]{43}$/u);
    const callback = corp.callbackFor(upstreamUrl);
    const answers = await Promise.all(Array.from({ length: 20 }, () => browser.visit(callback)));
    expect(answers.filter(({ status }) => status === 303)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 400)).toHaveLength(19);
    expect(corp.exchanged).toHaveLength(1);
    for (const query of ['', '?state=', '?code=x', `?code=x&state=${'a'.repeat(43)}`, '?state=a&state=a&code=x']) {
      const answer = await browser.visit(`${server.callbackUrl}${query}`);
      expect([answer.status, answer.location], query).toEqual([400, undefined]);
    }
  });

  it('rejects the handle of a consent page as state, and the consent page rejects a state as handle', async () => {
    const { server } = await single();
    const browser = server.browser();
    const { url } = await server.toConsent(browser);
    const handle = new URL(url).searchParams.get('transaction') ?? '';
    expect((await browser.visit(`${server.callbackUrl}?code=x&state=${handle}`)).status).toBe(400);
    expect((await browser.visit(url)).status).toBe(200);
    const upstreamUrl = await server.toProvider(browser);
    const state = new URL(upstreamUrl).searchParams.get('state') ?? '';
    expect((await browser.visit(`${server.issuer}/oauth/consent?transaction=${state}`)).status).toBe(400);
    expect(await server.store.loginAttempts.get(state)).toBeDefined();
  });

  it('row 29: with the iss of another provider shows a page and ends the login attempt', async () => {
    const { corp, server } = await single();
    const browser = server.browser();
    const upstreamUrl = await server.toProvider(browser);
    const tsid = await tsidOf(server, upstreamUrl);
    const callback = corp.callbackFor(upstreamUrl);
    const answer = await browser.visit(`${callback}&iss=https%3A%2F%2Fevil.example`);
    expect([answer.status, answer.location]).toEqual([400, undefined]);
    expect(answer.page).toContain('came from an unexpected place');
    expect(corp.provider.to('token')).toEqual([]);
    expect((await browser.visit(callback)).status).toBe(400);
    await nothingKept(server, tsid);
  });

  it('row 29: exchanges a code only at the provider of its state', async () => {
    const { corp, git, server } = await chain();
    const browser = server.browser();
    const atCorp = await server.toProvider(browser);
    const foreignCode = git.callbackFor(atCorp); // a code of git under the state of corp
    const answer = await browser.visit(foreignCode);
    expect(errorOf(answer.location)).toEqual(toClient('server_error', server));
    expect([corp.provider.to('token').length, git.provider.to('token').length]).toEqual([1, 0]);
  });

  const BAD_TOKENS: [string, LoginAt][] = [
    ['wrong nonce', { claims: { nonce: 'another' } }],
    ['no nonce', { claims: { nonce: undefined } }],
    ['wrong aud', { claims: { aud: 'another' } }],
    ['expired', { claims: { exp: 1_000_000 } }],
    ['other issuer', { claims: { iss: 'https://evil.example' } }],
    ['alg none', { reply: { id_token: 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbm4ifQ.' } }],
    ['no ID token', { reply: { id_token: undefined } }],
    ['row 69: token_type mac', { reply: { token_type: 'mac' } }],
    ['row 69: empty token', { reply: { access_token: '' } }],
    ['row 69: 200 with error', { reply: { error: 'bad' } }],
  ];

  it.each(BAD_TOKENS)('row 31: answers server_error and stores no tokens for %s', async (_what, login) => {
    const { corp, server } = await single();
    const browser = server.browser();
    const upstreamUrl = await server.toProvider(browser);
    const tsid = await tsidOf(server, upstreamUrl);
    const answer = await browser.visit(corp.callbackFor(upstreamUrl, login));
    expect(errorOf(answer.location)).toEqual(toClient('server_error', server));
    expect(flowCookies(browser)).toEqual([]);
    await nothingKept(server, tsid);
  });

  it.each([
    ['an object', { sub: { a: 1 } }],
    ['a list', { sub: ['ann'] }],
    ['empty', { sub: '' }],
    ['1e21', { sub: 1e21 }],
    ['missing', { sub: undefined }],
  ])(
    'row 68: answers server_error and deletes the earlier leg for a userinfo subject that is %s',
    async (_what, claims) => {
      const { corp, git, server } = await chain();
      const browser = server.browser();
      const next = await browser.visit(corp.callbackFor(await server.toProvider(browser)));
      const tsid = await tsidOf(server, next.location ?? '');
      expect(await server.store.upstreamTokens.all(tsid)).toHaveLength(1);
      const answer = await browser.visit(git.callbackFor(next.location ?? '', { claims }));
      expect(errorOf(answer.location)).toEqual(toClient('server_error', server));
      await nothingKept(server, tsid);
    },
  );

  it('row 69: answers server_error for a reply of 2 MB and temporarily_unavailable for a provider that is down', async () => {
    const { corp, server } = await single();
    const browser = server.browser();
    corp.provider.answers['token'] = json({ access_token: 'x'.repeat(2 * 1024 * 1024), token_type: 'Bearer' });
    const big = await browser.visit(corp.callbackFor(await server.toProvider(browser)));
    expect(errorOf(big.location)).toEqual(toClient('server_error', server));
    corp.provider.answers['token'] = raw(503, {}, 'down for https://secret.internal');
    const down = await browser.visit(corp.callbackFor(await server.toProvider(browser)));
    expect(errorOf(down.location)).toEqual(toClient('temporarily_unavailable', server));
    expect(down.location).not.toContain('internal'); // row 58
  });

  it.each([
    ['access_denied', 'access_denied'],
    ['login_required', 'access_denied'],
    ['consent_required', 'access_denied'],
    ['invalid_scope', 'server_error'],
    ['temporarily_unavailable', 'temporarily_unavailable'],
  ])('forwards the error %s of a provider as %s, without its description', async (upstream, error) => {
    const { server } = await single();
    const browser = server.browser();
    const state = new URL(await server.toProvider(browser)).searchParams.get('state') ?? '';
    const query = `error=${upstream}&error_description=words+of+the+provider&state=${state}`;
    const { location } = await browser.visit(`${server.callbackUrl}?${query}`);
    expect(errorOf(location)).toEqual(toClient(error, server));
    expect(location).not.toContain('words');
  });

  it('redirects to the client when the provider is unreachable', async () => {
    const { corp, server } = await single();
    await corp.provider.stop();
    const browser = server.browser();
    const location = await server.toProvider(browser);
    expect(errorOf(location)).toEqual(toClient('temporarily_unavailable', server));
    expect(flowCookies(browser)).toEqual([]);
  });
});

describe('the user', () => {
  it('must match the stored first leg before a code is issued', async () => {
    const { corp, git, server } = await chain();
    for (const change of ['gone', 'of somebody else']) {
      const browser = server.browser();
      const next = await browser.visit(corp.callbackFor(await server.toProvider(browser)));
      const tsid = await tsidOf(server, next.location ?? '');
      const [row] = await server.store.upstreamTokens.all(tsid);
      if (!row) throw new Error('there is no row');
      if (change === 'gone') await server.store.upstreamTokens.delete(tsid);
      else await server.store.upstreamTokens.put({ ...row, userId: 'somebody else' }, 60_000);
      const end = await browser.visit(git.callbackFor(next.location ?? ''));
      expect(errorOf(end.location), change).toEqual(toClient('server_error', server));
      await nothingKept(server, tsid);
    }
  });

  it('row 32: stays the same when a later provider names another subject, which is an audit event', async () => {
    const { corp, git, server } = await chain({ settings: { reuseUpstreamTokens: false } });
    const run = async (subject: string) => {
      const browser = server.browser();
      const next = await browser.visit(corp.callbackFor(await server.toProvider(browser)));
      const end = await browser.visit(git.callbackFor(next.location ?? '', { subject }));
      const taken = await server.store.codes.take(new URL(end.location ?? '').searchParams.get('code') ?? '', 1_000);
      return taken.kind === 'taken' ? taken.grant : undefined;
    };
    const [one, other] = [await run('ann'), await run('bob')];
    expect(other?.login.userId).toBe(one?.login.userId);
    expect((await server.store.upstreamTokens.get(other?.tsid ?? '', 'git'))?.upstreamSubject).toBe('bob');
    const told = server.events.filter(([event]) => event === 'other_upstream_subject');
    expect(told.map(([, { provider, sub }]) => [provider, sub])).toEqual([['git', one?.login.userId]]);
    expect(JSON.stringify(told)).not.toContain('bob');
  });

  it('row 33: differs at two providers, even with the same e-mail address', async () => {
    const email = { claims: { email: 'ann@corp.example' } };
    const [corp, other] = [await scriptedOidc('corp'), await scriptedOidc('other')];
    const first = await browserServer(() => ({ corp: corp.entry }));
    const second = await browserServer(() => ({ other: other.entry }), { store: first.store, clients: [] });
    const ids = [];
    for (const [provider, server] of [
      [corp, first],
      [other, second],
    ] as const) {
      const browser = server.browser();
      const end = await browser.visit(provider.callbackFor(await server.toProvider(browser), email));
      const taken = await server.store.codes.take(new URL(end.location ?? '').searchParams.get('code') ?? '', 1_000);
      ids.push(taken.kind === 'taken' ? taken.grant.login.userId : undefined);
    }
    expect(new Set(ids).size).toBe(2);
    expect(ids).not.toContain(undefined);
  });
});

it('row 62: sets cookies with the __Host- prefix over https', async () => {
  const { corp, server } = await single({ https: true });
  const browser = server.browser();
  const { location = '' } = await browser.visit(server.authorizeUrl());
  expect(location.startsWith('https://')).toBe(true);
  const page = await browser.visit(location.replace('https:', 'http:'));
  const form = browser.fill(page.page, page.url, '');
  const leg = await browser.visit(form.url, form.body);
  const set = [...page.headers.getSetCookie(), ...leg.headers.getSetCookie()];
  expect(set).toHaveLength(2);
  for (const line of set) {
    expect(line).toMatch(
      /^__Host-vmcp-(?:flow|consent)-[\w-]+=[\w.-]+; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Lax; Secure$/u,
    );
  }
  const end = await browser.visit(corp.callbackFor(leg.location ?? ''));
  expect(end.location?.startsWith(CLIENT_REDIRECT)).toBe(true);
});

it('row 70: stores nothing of an abandoned login attempt, and 10,000 of them do not harm a running one', async () => {
  const { corp, git, server } = await chain();
  const browser = server.browser();
  const next = await browser.visit(corp.callbackFor(await server.toProvider(browser)));
  const tsid = await tsidOf(server, next.location ?? '');
  server.advance(9 * 60_000);
  expect(await server.store.upstreamTokens.all(tsid)).toHaveLength(1);
  server.advance(21 * 60_000 + 1_000);
  expect(await server.store.upstreamTokens.all(tsid)).toEqual([]);
  expect((await browser.visit(git.callbackFor(next.location ?? ''))).status).toBe(400);
  const live = await server.toProvider(browser);
  const flood = Array.from({ length: 9_990 }, (_, index) => index);
  const { loginAttempts } = server.store;
  const found = await loginAttempts.get(handleOf(live, server));
  if (!found) throw new Error('there is no login attempt');
  const { address: _one, ...some } = found; // the flood has the addresses of a proxy
  await Promise.all(flood.map((index) => loginAttempts.put(`flood-${String(index)}`, some, 600_000)));
  expect((await browser.visit(corp.callbackFor(live))).location?.startsWith(git.provider.url('authorize'))).toBe(true);
  await loginAttempts.put('one too many', some, 600_000);
  expect(await loginAttempts.get('flood-9989')).toBeDefined();
});
