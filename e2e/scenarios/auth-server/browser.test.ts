import type { Browser, Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  hasChromium,
  signIn,
  startChromium,
  startClientCallback,
  type ClientCallback,
} from '../../harness/browser/chromium.ts';
import { blockScope, testScope } from '../../harness/scope.ts';
import { OAuthClient } from './oauth-client.ts';
import { startAuthServer, type Gateway } from './gateway.ts';

const NAME = '\u202Etxet\u202C <script>alert(1)</script><img src=x onerror=alert(2)>';

const scope = blockScope();
let gateway: Gateway;
let browser: Browser;
let callback: ClientCallback;
let client: OAuthClient;

/** Opens a window with separate cookies; `complaints` collects its errors. */
async function newWindow(options: Parameters<Browser['newContext']>[0] = {}) {
  const context = await browser.newContext(options);
  testScope().defer(() => context.close());
  const complaints: string[] = [];
  const open = async (): Promise<Page> => {
    const page = await context.newPage();
    page.on('dialog', (dialog) => {
      complaints.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on('console', (message) => {
      const own = message.location().url.startsWith(gateway.issuer);
      if (own && message.type() === 'error') complaints.push(message.text());
    });
    page.on('pageerror', (error) => complaints.push(error.message));
    return page;
  };
  return { page: await open(), open, complaints };
}

const approve = (page: Page) =>
  Promise.all([page.waitForNavigation(), page.getByRole('button', { name: 'Approve' }).click()]);
const deny = (page: Page) =>
  Promise.all([page.waitForNavigation(), page.getByRole('button', { name: 'Deny' }).click()]);
const begin = () => client.begin({ redirectUri: callback.url });
const lastCall = (): URL => callback.calls.at(-1) ?? new URL('http://nobody.called');
const onPage = (page: Page, what: string) => page.evaluate<string>(what);

describe.runIf(hasChromium)('in Chromium', () => {
  beforeAll(async () => {
    callback = await startClientCallback(scope);
    browser = await startChromium(scope);
    gateway = await startAuthServer(scope, { authServer: { consent: { mode: 'always' } } });
    client = await OAuthClient.register(gateway.issuer, { client_name: NAME, redirect_uris: [callback.url] });
  });

  it('a login with consent passes both providers and ends with a code', async () => {
    const { page, complaints } = await newWindow();
    const flow = await begin();
    const answer = await page.goto(flow.url.href);
    expect(answer?.status()).toBe(200);
    expect(new URL(page.url()).origin).toBe(gateway.issuer);
    for (const text of ['Access will be handed to', new URL(callback.url).host, 'corp', 'chat', 'unverified'])
      expect(await page.getByText(text).count(), text).toBeGreaterThan(0);
    expect(gateway.around.chat.counts.authorize).toBe(0);
    await approve(page);
    expect(new URL(page.url()).origin).toBe(gateway.around.corp.issuer);
    await signIn(page, callback, 'ann');
    const tokens = await client.redeem(lastCall(), flow, callback.url);
    expect(tokens.access_token).toBeDefined();
    expect(gateway.around.chat.counts).toMatchObject({ authorize: 1, login: 1, code: 1 });
    expect(complaints).toEqual([]);
  });

  it('row 6: the name of the client cannot run scripts or reorder the page', async () => {
    const { page, complaints } = await newWindow();
    await page.goto((await begin()).url.href);
    expect(await onPage(page, 'String(document.scripts.length + document.images.length)')).toBe('0');
    const heading = await page.getByRole('heading', { level: 1 }).innerText();
    expect(heading).toContain('txet <script>alert(1)</script>');
    expect(heading).not.toMatch(/[\u202A-\u202E]/u);
    expect(complaints).toEqual([]);
  });

  it.each(['light', 'dark'] as const)('is readable on a phone, %s', async (colorScheme) => {
    const { page, complaints } = await newWindow({ colorScheme, viewport: { width: 390, height: 844 } });
    await page.goto((await begin()).url.href);
    expect(await onPage(page, 'String(document.documentElement.scrollWidth <= innerWidth)')).toBe('true');
    const brightness = await page.evaluate<number[]>(
      `[document.body, document.querySelector('h1')].map((e, i) => {
        const [r, g, b] = getComputedStyle(e)[i === 0 ? 'backgroundColor' : 'color'].match(/\\d+/g).map(Number);
        return (r + g + b) / 3;
      })`,
    );
    const [background = 0, text = 0] = brightness;
    if (colorScheme === 'light') expect(background - text).toBeGreaterThan(150);
    else expect(text - background).toBeGreaterThan(150);
    for (const name of ['Approve', 'Deny']) {
      const box = await page.getByRole('button', { name }).boundingBox();
      expect(box?.height).toBeGreaterThanOrEqual(40);
    }
    expect(complaints).toEqual([]);
  });

  it('Deny redirects to the client without a request to a provider', async () => {
    const { page, complaints } = await newWindow();
    const before = gateway.around.chat.counts.authorize;
    const flow = await begin();
    await page.goto(flow.url.href);
    await deny(page);
    expect(Object.fromEntries(lastCall().searchParams)).toMatchObject({
      error: 'access_denied',
      state: flow.state,
      iss: gateway.issuer,
    });
    expect(gateway.around.chat.counts.authorize).toBe(before);
    expect(complaints).toEqual([]);
  });

  it('two tabs finish two logins, each with its own code', async () => {
    const { page: one, open } = await newWindow();
    const other = await open();
    const [first, second] = [await begin(), await begin()];
    await one.goto(first.url.href);
    await other.goto(second.url.href);
    await approve(one);
    await approve(other);
    await signIn(other, callback, 'ann');
    const answerOfOther = lastCall();
    await signIn(one, callback, 'ann');
    const codes = [
      await client.redeem(lastCall(), first, callback.url),
      await client.redeem(answerOfOther, second, callback.url),
    ];
    expect(new Set(codes.map(({ access_token: token }) => token)).size).toBe(2);
  });

  it('Back shows the consent page again, Forward continues, and there is never a second code', async () => {
    const { page } = await newWindow();
    const flow = await begin();
    await page.goto(flow.url.href);
    await approve(page);
    await page.goBack();
    expect(await page.getByRole('button', { name: 'Approve' }).count()).toBe(1);
    await page.goForward();
    await signIn(page, callback, 'ann');
    await client.redeem(lastCall(), flow, callback.url);
    const calls = callback.calls.length;
    for (let step = 0; step < 12; step += 1) await page.goBack();
    expect(callback.calls.slice(calls).filter(({ searchParams }) => searchParams.has('code'))).toEqual([]);
  });

  it('row 2: another browser cannot finish a login attempt, and the original one can', async () => {
    const [attacker, victim] = [await newWindow(), await newWindow()];
    const flow = await begin();
    const isUpstream = (url: string) => url.startsWith(`${gateway.around.corp.issuer}/auth?`);
    const upstream = attacker.page.waitForRequest((request) => isUpstream(request.url()));
    await attacker.page.goto(flow.url.href);
    await approve(attacker.page);
    const calls = callback.calls.length;
    await victim.page.goto((await upstream).url());
    const heading = victim.page.getByRole('heading', { name: 'did not begin in this browser' });
    await signIn(victim.page, callback, 'victim', heading);
    expect(await heading.count()).toBe(1);
    expect(callback.calls.length).toBe(calls);
    await victim.page.getByRole('link', { name: 'How to connect' }).click();
    await expect.poll(() => victim.page.url()).toBe(`${gateway.issuer}/`);
    expect(await victim.page.locator('#url').innerText()).toBe(gateway.url);
    await signIn(attacker.page, callback, 'attacker');
    expect((await client.redeem(lastCall(), flow, callback.url)).access_token).toBeDefined();
  });

  it('row 5: cannot be framed', async () => {
    const { page } = await newWindow();
    const flow = await begin();
    callback.home = `<iframe src="${flow.url.href.replaceAll('&', '&amp;')}"></iframe>`;
    await page.goto(new URL('/', callback.url).href);
    await page.waitForLoadState('networkidle');
    const [frame] = page.frames().filter((one) => one !== page.mainFrame());
    expect(await frame?.getByRole('button').count()).toBe(0);
  });
});
