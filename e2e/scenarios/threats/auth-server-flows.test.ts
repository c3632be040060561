import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openGet } from '../../faults/event-stream.ts';
import { raw, type RawResponse } from '../../harness/clients/raw.ts';
import { formsOf } from '../../harness/browser/html-form.ts';
import { ScriptedBrowser, type End, type Shown } from '../../harness/browser/scripted-browser.ts';
import { blockScope } from '../../harness/scope.ts';
import { startAuthServer, type Gateway } from '../auth-server/gateway.ts';
import { OAuthClient } from '../auth-server/oauth-client.ts';
import { openBearerSession } from '../bearer-session.ts';
import { answerJson, startLyingProvider, type LyingProvider } from './lying-provider.ts';
import { GENEROUS } from './rates.ts';

const CLIENT = 'http://127.0.0.1:33418/';
const APPROVE = ['decision', 'approve'] as const;

const scope = blockScope();
let provider: LyingProvider;
let gateway: Gateway;
let client: OAuthClient;
let other: OAuthClient;

beforeAll(async () => {
  provider = await startLyingProvider(scope);
  provider.token = answerJson({ access_token: 'token-of-the-provider', token_type: 'bearer' });
  provider.user = answerJson({ id: 'ann' });
  const upstreamProviders = [provider.entry('corp'), provider.entry('chat')];
  const consent = { mode: 'always' };
  gateway = await startAuthServer(scope, { authServer: { upstreamProviders, consent, rateLimits: GENEROUS } });
  client = await OAuthClient.register(gateway.issuer);
  other = await OAuthClient.register(gateway.issuer);
});

beforeEach(() => {
  provider.asked.length = 0;
});

function shown(end: End): Shown {
  if (!('page' in end)) throw new Error(`it redirected to ${end.client.href}`);
  return end.page;
}

/** Returns a browser that stops at URLs with these prefixes. */
const stoppingAt = (...clients: string[]) => new ScriptedBrowser({ clients: [CLIENT, ...clients] });

const consentPage = async (browser: ScriptedBrowser): Promise<Shown> =>
  shown(await browser.open((await client.begin()).url));

/** Approves, and stops before the callback. */
async function toCallback(browser = stoppingAt(`${gateway.issuer}/oauth/callback`)): Promise<[ScriptedBrowser, URL]> {
  return [browser, await browser.login((await client.begin()).url)];
}

const cookiesOf = (browser: ScriptedBrowser, url: URL) =>
  browser.cookies.header(url, { crossSite: false, method: 'GET' });

const post = (path: string, form: Readonly<Record<string, string>>, headers = {}): Promise<RawResponse> =>
  raw(`${gateway.issuer}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    body: new URLSearchParams(form).toString(),
  });

const answer = (page: Shown, cookie: string, headers = {}, changes = {}): Promise<RawResponse> =>
  post(
    '/oauth/consent',
    { ...formsOf(page.body)[0]?.hidden, decision: 'approve', ...changes },
    { origin: 'null', 'sec-fetch-site': 'same-origin', ...(cookie !== '' && { cookie }), ...headers },
  );

const statuses = (replies: readonly RawResponse[], status: number) =>
  replies.filter((reply) => reply.status === status);
const times = <T>(count: number, call: () => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, call));

describe('the consent page', () => {
  it('rows 1 and 4: no request reaches a provider before the same browser answers from the same page', async () => {
    const browser = stoppingAt();
    const page = await consentPage(browser);
    const foreign = await consentPage(stoppingAt());
    const cookie = cookiesOf(browser, page.url);
    const csrf = formsOf(foreign.body)[0]?.hidden;
    const attempts = [
      answer(page, ''),
      answer(page, cookie, { 'sec-fetch-site': 'cross-site' }),
      answer(page, cookie, { 'sec-fetch-site': 'same-site' }),
      answer(page, cookie, { origin: 'https://evil.example' }),
      answer(page, cookie, {}, { ...csrf, transaction: formsOf(page.body)[0]?.hidden['transaction'] }),
      answer(foreign, cookie),
      answer(page, cookie, {}, { csrf: '' }),
    ];
    for (const reply of await Promise.all(attempts)) {
      expect({ status: reply.status, location: reply.headers.location }).toEqual({ status: 403, location: undefined });
    }
    expect(provider.asked).toEqual([]);
    expect('client' in (await browser.press(page, APPROVE))).toBe(true);
    expect((await answer(page, cookie)).status).toBe(403);
  });

  it('row 4: accepts one of twenty concurrent answers', async () => {
    const browser = stoppingAt();
    const page = await consentPage(browser);
    const cookie = cookiesOf(browser, page.url);
    const replies = await times(20, () => answer(page, cookie));
    expect([statuses(replies, 303), statuses(replies, 403)].map(({ length }) => length)).toEqual([1, 19]);
  });
});

describe('the callback', () => {
  it('rows 2 and 3: fails in another browser, and the original browser can still finish', async () => {
    const [browser, callback] = await toCallback();
    provider.asked.length = 0;
    const [victim] = await toCallback();
    provider.asked.length = 0;
    for (const stranger of [stoppingAt(), new ScriptedBrowser(), victim]) {
      const { status, headers } = await raw(callback.href, {
        headers: { cookie: cookiesOf(stranger, callback) || 'a=b' },
      });
      expect({ status, location: headers.location }).toEqual({ status: 400, location: undefined });
    }
    expect(provider.asked).toEqual([]);
    const { status } = await raw(callback.href, { headers: { cookie: cookiesOf(browser, callback) } });
    expect(status).toBe(303);
  });

  it('row 30: accepts one of twenty concurrent requests', async () => {
    const [browser, callback] = await toCallback();
    const cookie = cookiesOf(browser, callback);
    const replies = await times(20, () => raw(callback.href, { headers: { cookie } }));
    expect([statuses(replies, 303), statuses(replies, 400)].map(({ length }) => length)).toEqual([1, 19]);
    expect((await raw(callback.href, { headers: { cookie } })).status).toBe(400);
  });

  it.each([
    ['row 30: a guessed state', /state=[^&]*/u, `state=${'s'.repeat(43)}`],
    ['row 30: no state', /state=[^&]*&?/u, ''],
    ['row 13: two states', '?', '?state=x&'],
    ['row 13: two codes', '?', '?code=x&'],
  ])('%s: shows a page and sends no request to the provider', async (_what, part, changed) => {
    const [browser, callback] = await toCallback();
    provider.asked.length = 0;
    const cookie = cookiesOf(browser, callback);
    const { status, headers } = await raw(callback.href.replace(part, changed), { headers: { cookie } });
    expect({ status, location: headers.location, asked: provider.asked }).toEqual({ status: 400, asked: [] });
  });

  it('row 58: does not forward the error text of a provider to the client', async () => {
    const [browser, callback] = await toCallback();
    const { state } = Object.fromEntries(callback.searchParams);
    const said = new URLSearchParams({
      state: state ?? '',
      error: 'x\r\nX-Injected: 1',
      error_description: '<b>pwned',
    });
    const { headers } = await raw(`${gateway.issuer}/oauth/callback?${said.toString()}`, {
      headers: { cookie: cookiesOf(browser, callback) },
    });
    expect(headers.location).toContain('error=server_error');
    expect(headers.location).not.toContain('pwned');
    expect(Object.keys(headers)).not.toContain('x-injected');
  });
});

describe('tokens', () => {
  const newTokens = async () => {
    const { access_token: access, refresh_token: refresh = '' } = await client.login(new ScriptedBrowser());
    return { access, refresh };
  };
  const refresh = (token: string, changes = {}) =>
    post('/oauth/token', {
      grant_type: 'refresh_token',
      client_id: client.client.client_id,
      refresh_token: token,
      ...changes,
    });
  const successor = ({ body }: RawResponse) => (JSON.parse(body) as { refresh_token: string }).refresh_token;
  const errorOf = ({ status, body }: RawResponse) =>
    `${String(status)} ${(JSON.parse(body) as { error: string }).error}`;
  const lives = async (token: string) =>
    (await raw(`${gateway.issuer}/oauth/userinfo`, { headers: { authorization: `Bearer ${token}` } })).status === 200;

  it('row 24: are not refreshed for another client, a larger scope or another server', async () => {
    const { refresh: token } = await newTokens();
    expect(errorOf(await refresh(token, { client_id: other.client.client_id }))).toBe('400 invalid_grant');
    expect(errorOf(await refresh(token, { scope: 'openid admin' }))).toBe('400 invalid_scope');
    expect(errorOf(await refresh(token, { resource: 'https://evil.example/mcp' }))).toBe('400 invalid_target');
    expect((await refresh(token)).status).toBe(200);
  });

  it('rows 22 and 23: concurrent refreshes return one successor, and an older token revokes the login', async () => {
    const { refresh: first, access } = await newTokens();
    const replies = await times(10, () => refresh(first));
    expect(statuses(replies, 200)).toHaveLength(10);
    expect(new Set(replies.map(successor)).size).toBe(1);
    const second = successor(replies[0] as RawResponse);
    const third = successor(await refresh(second));
    expect(await lives(access)).toBe(true);
    expect(errorOf(await refresh(first))).toBe('400 invalid_grant');
    expect(errorOf(await refresh(third))).toBe('400 invalid_grant');
    expect(await lives(access)).toBe(false);
  });

  it('row 25: are revoked even when a refresh runs at the same time', async () => {
    for (const delayMs of [0, 0, 1, 2, 3, 5]) {
      const { refresh: token } = await newTokens();
      const revoke = sleep(delayMs).then(() => post('/oauth/revoke', { client_id: client.client.client_id, token }));
      const [refreshed] = await Promise.all([refresh(token), revoke]);
      if (refreshed.status !== 200) continue;
      expect(errorOf(await refresh(successor(refreshed)))).toBe('400 invalid_grant');
      expect(await lives((JSON.parse(refreshed.body) as { access_token: string }).access_token)).toBe(false);
    }
  });

  it('rows 26 and 27: cannot be revoked by another client, nor introspected by a public client', async () => {
    const { access, refresh: token } = await newTokens();
    for (const each of [access, token]) {
      expect((await post('/oauth/revoke', { client_id: other.client.client_id, token: each })).status).toBe(200);
      const description = await post('/oauth/introspect', { client_id: client.client.client_id, token: each });
      expect(errorOf(description)).toBe('401 invalid_client');
    }
    expect(await lives(access)).toBe(true);
  });

  it('end their open streams at once when they are revoked', async () => {
    const { access, refresh: token } = await newTokens();
    const others = await openGet(gateway.url, await openBearerSession(gateway.url, (await newTokens()).access));
    const session = await openBearerSession(gateway.url, access);
    const stream = await openGet(gateway.url, session);
    expect([stream.ended(), others.ended()]).toEqual([false, false]);
    await post('/oauth/revoke', { client_id: client.client.client_id, token });
    await expect.poll(() => stream.ended(), { timeout: 2_000 }).toBe(true);
    expect(others.ended()).toBe(false);
    expect((await openGet(gateway.url, session)).status).toBe(401);
  });
});

it('row 70: 10,100 abandoned login attempts end no active one', { timeout: 300_000 }, async () => {
  const browser = stoppingAt();
  const page = await consentPage(browser);
  const [late, callback] = await toCallback();
  const { url } = await client.begin();
  let left = 10_100;
  const flood = async () => {
    while (left > 0) {
      left -= 1;
      const { statusCode, body } = await request(url);
      await body.dump();
      if (statusCode !== 200) throw new Error(`the flood was rejected with ${String(statusCode)}`);
    }
  };
  await times(50, flood);
  expect((await raw(callback.href, { headers: { cookie: cookiesOf(late, callback) } })).status).toBe(303);
  expect('client' in (await browser.press(page, APPROVE))).toBe(true);
});
