import { describe, expect, it } from 'vitest';
import { memoryStore } from '../../storage/memory.ts';
import type { Browser } from '../../upstream/testdata/browser.ts';
import { browserServer, type BrowserServer, type ServerOptions } from '../testdata/browser-server.ts';
import { scriptedOauth2, scriptedOidc } from '../testdata/scripted-login.ts';

const ROOM = 3;

/** A server whose store has room for few login attempts, with its two providers. */
async function smallServer(options: ServerOptions = {}) {
  const [corp, git] = [await scriptedOidc('corp'), await scriptedOauth2('git')];
  const store = memoryStore(Date.now, { maxLoginAttempts: ROOM });
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
    const browser = server.browser();
    const { page, url } = await server.toConsent(browser, { state: 's'.repeat(2_048), nonce: 'n'.repeat(2_048) });
    const form = browser.fill(page, url, '');
    const refused = await browser.visit(form.url, form.body);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '5']);
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

  it('stay within 8 KiB when they carry login attempts', async () => {
    const { server, finish } = await smallServer();
    await flood(server, ROOM);
    const browser = server.browser();
    let atCorp = '';
    for (let begun = 0; begun < 12; begun += 1) atCorp = await server.toProvider(browser, { scope: 'openid tools' });
    const header = flowCookies(browser).map(([name, value]) => `${name}=${value}`);
    expect(header.join('; ').length).toBeLessThan(8_192);
    expect(await finish(browser, atCorp)).toContain('&code=vac_');
  });
});
