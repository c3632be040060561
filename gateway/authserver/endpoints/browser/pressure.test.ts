import { describe, expect, it } from 'vitest';
import { memoryStore } from '../../storage/memory.ts';
import type { LoginAttemptLimits } from '../../storage/memory-login-attempts.ts';
import type { Browser, Visited } from '../../upstream/testdata/browser.ts';
import { browserServer, type BrowserServer, type ServerOptions } from '../testdata/browser-server.ts';
import { scriptedOauth2, scriptedOidc } from '../testdata/scripted-login.ts';

const ROOM = 3;
/** Makes a login attempt too long for a cookie. */
const LONG = { state: 's'.repeat(2_048), nonce: 'n'.repeat(2_048) };

/** A server whose store has room for few login attempts, with its two providers. */
async function smallServer(options: ServerOptions = {}, limits: Partial<LoginAttemptLimits> = {}) {
  const [corp, git] = [await scriptedOidc('corp'), await scriptedOauth2('git')];
  const store = memoryStore(Date.now, { loginAttempts: { total: ROOM, perAddress: ROOM, ...limits } });
  const server = await browserServer(() => ({ corp: corp.entry, git: git.entry }), { store, ...options });
  /** Skips the second provider for a user with an earlier login. */
  const finish = async (browser: Browser, atCorp: string): Promise<string> => {
    const { location = '' } = await browser.visit(corp.callbackFor(atCorp));
    if (location.includes('&code=vac_')) return location;
    return (await browser.visit(git.callbackFor(location))).location ?? '';
  };
  return { corp, git, server, finish };
}

const flowCookies = (browser: Browser) => [...browser.cookies].filter(([name]) => name.includes('vmcp-flow-'));

async function flood(server: BrowserServer, count: number): Promise<void> {
  for (let begun = 0; begun < count; begun += 1) await server.toProvider(server.browser());
}

/** Approves the consent page and returns the answer. */
async function toApproval(
  server: BrowserServer,
  browser: Browser,
  changes: Readonly<Record<string, string>>,
): Promise<Visited> {
  const { page, url } = await server.toConsent(browser, changes);
  const form = browser.fill(page, url, '');
  return browser.visit(form.url, form.body);
}

describe('abandoned login attempts', () => {
  it('neither end running login attempts nor block new ones', async () => {
    const { server, finish } = await smallServer();
    const [early, late] = [server.browser(), server.browser()];
    const earlyAtCorp = await server.toProvider(early);
    await flood(server, 3 * ROOM);
    const lateAtCorp = await server.toProvider(late);
    expect(await finish(early, earlyAtCorp)).toContain('&code=vac_');
    expect(await finish(late, lateAtCorp)).toContain('&code=vac_');
    expect([flowCookies(early), flowCookies(late)]).toEqual([[], []]);
  });

  it('leave an attempt in a cookie bound to its browser and usable only once', async () => {
    const { server, corp, finish } = await smallServer();
    await flood(server, ROOM);
    const browser = server.browser();
    const atCorp = await server.toProvider(browser);
    const other = server.browser();
    await server.toProvider(other);
    const callback = corp.callbackFor(atCorp);
    expect((await server.browser().visit(callback)).status).toBe(400);
    expect((await other.visit(callback)).status).toBe(400);
    const copy = flowCookies(browser)
      .map(([name, value]) => `${name}=${value}`)
      .join('; ');
    expect(await finish(browser, atCorp)).toContain('&code=vac_');
    expect((await server.browser().visit(callback, undefined, { cookie: copy })).status).toBe(400);
    expect(corp.exchanged).toHaveLength(1);
  });

  it('expire after ten minutes in the store and in cookies', async () => {
    const { server, corp } = await smallServer();
    await flood(server, ROOM);
    const browser = server.browser();
    const atCorp = await server.toProvider(browser);
    server.advance(10 * 60_000);
    expect((await browser.visit(corp.callbackFor(atCorp))).status).toBe(400);
  });

  it('do not block new logins when the consent page has another origin', async () => {
    const { server, finish } = await smallServer({ elsewhere: true });
    for (let begun = 0; begun < 3 * ROOM; begun += 1) await server.browser().visit(server.authorizeUrl());
    const address = (await server.browser().visit(server.authorizeUrl())).location ?? '';
    const logins = [server.browser(), server.browser()].map(async (browser) => {
      const { page, url } = await browser.visit(address);
      const form = browser.fill(page, url, '');
      return finish(browser, (await browser.visit(form.url, form.body)).location ?? '');
    });
    const codes = await Promise.all(logins);
    expect(codes.every((location) => location.includes('&code=vac_'))).toBe(true);
    const grants = await Promise.all(
      codes.map((location) => server.store.codes.take(new URL(location).searchParams.get('code') ?? '', 1_000)),
    );
    expect(new Set(grants.map((taken) => (taken.kind === 'taken' ? taken.grant.tsid : ''))).size).toBe(2);
  });

  it('are rejected with 429 when they fit neither the store nor a cookie', async () => {
    const { server } = await smallServer();
    await flood(server, ROOM);
    const refused = await toApproval(server, server.browser(), LONG);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '5']);
  });
});

describe('abandoned login attempts of one client address', () => {
  const behindProxy = { settings: { trustedProxies: ['127.0.0.0/8'] } };
  const limits = { total: 2 * ROOM, perAddress: ROOM };
  const at = (server: BrowserServer, address: string) => server.browser(undefined, { 'x-forwarded-for': address });

  it.each([false, true])(
    'leave room in the store for others; consent page at another origin: %s',
    async (elsewhere) => {
      const { server, finish } = await smallServer({ ...behindProxy, elsewhere }, limits);
      const begin = (address: string) => server.toProvider(at(server, address), LONG);
      for (let begun = 0; begun < ROOM; begun += 1) expect(await begin('203.0.113.9')).toContain('state=');
      const crowded = at(server, '203.0.113.9');
      expect((await toApproval(server, crowded, LONG)).status).toBe(429);
      for (let begun = 0; begun < ROOM - 1; begun += 1) expect(await begin('203.0.113.7')).toContain('state=');
      const other = at(server, '198.51.100.4');
      expect(await finish(other, await server.toProvider(other, LONG))).toContain('&code=vac_');
      const same = at(server, '203.0.113.9');
      expect(await finish(same, await server.toProvider(same))).toContain('&code=vac_'); // in its cookie
    },
  );

  it('are those of a whole IPv6 network', async () => {
    const { server } = await smallServer(behindProxy, limits);
    for (let begun = 1; begun <= ROOM; begun += 1) await server.toProvider(at(server, `2001:db8::${String(begun)}`));
    expect((await toApproval(server, at(server, '2001:db8::aaaa'), LONG)).status).toBe(429);
  });
});

describe('cookies of login attempts', () => {
  it('are limited to 16 for each browser: the oldest is removed', async () => {
    const { server, finish } = await smallServer();
    const browser = server.browser();
    const first = await server.toConsent(browser);
    for (let begun = 0; begun < 40; begun += 1) await browser.visit(server.authorizeUrl());
    expect(flowCookies(browser)).toHaveLength(16);
    const form = browser.fill(first.page, first.url, '');
    expect((await browser.visit(form.url, form.body)).status).toBe(403);
    expect(await finish(browser, await server.toProvider(browser))).toContain('&code=vac_');
  });

  it('stay within 8 KiB when they carry login attempts, with all remembered consents', async () => {
    const { server, finish } = await smallServer();
    await flood(server, ROOM);
    const browser = server.browser();
    // As long as on https, where `__Host-` precedes each name.
    const consent = (index: number) => `__Host-vmcp-consent-${String(index).padStart(22, 'k')}=${'c'.repeat(98)}`;
    const consents = Array.from({ length: 30 }, (_, index) => consent(index));
    const headerLength = (): number => {
      const flows = flowCookies(browser).map(([name, value]) => `__Host-${name}=${value}`);
      return `Cookie: ${[...consents, ...flows].join('; ')}\r\n`.length;
    };
    let [atCorp, longest] = ['', 0];
    for (let carried = 0; carried < 4; carried += 1) {
      for (let shown = 0; shown < 15; shown += 1) {
        await browser.visit(server.authorizeUrl());
        longest = Math.max(longest, headerLength());
      }
      await server.toProvider(browser, { scope: 'openid tools' });
      atCorp = await server.toProvider(browser, { scope: 'openid tools', state: 's'.repeat(carried * 200) });
    }
    expect(longest).toBeGreaterThan(7_000);
    expect(longest).toBeLessThan(8_192);
    expect(await finish(browser, atCorp)).toContain('&code=vac_');
  });
});
