import { describe, expect, it } from 'vitest';
import { browserServer, CLIENT_REDIRECT, type BrowserServer } from '../testdata/browser-server.ts';
import { scriptedOauth2, scriptedOidc, type ScriptedLogin } from '../testdata/scripted-login.ts';

/** Starts a login and stops at the second provider, `git`, after the leg of the first one, `corp`. */
async function atSecondProvider(git: ScriptedLogin, corp?: ScriptedLogin) {
  const first = corp ?? (await scriptedOidc('corp'));
  const server = await browserServer(() => ({ corp: first.entry, git: git.entry }));
  const browser = server.browser();
  const atFirst = await server.toProvider(browser);
  const atSecond = (await browser.visit(first.callbackFor(atFirst))).location ?? '';
  expect(atSecond.startsWith(git.issuer)).toBe(true);
  return { server, browser, corp: first, atFirst, atSecond };
}

const redirectOf = (authorizationUrl: string) => new URL(authorizationUrl).searchParams.get('redirect_uri');

/** Returns the same callback parameters at another callback path. */
function deliveredAt(callback: string, path: string): string {
  const url = new URL(callback);
  url.pathname = path;
  return url.href;
}

/** Answers the leg of the second provider with a code of the first one, and with its `iss` if it has one. */
function mixedUp({ corp, atSecond }: Awaited<ReturnType<typeof atSecondProvider>>, { issuer }: BrowserServer): string {
  const honest = new URL(atSecond);
  honest.searchParams.set('redirect_uri', `${issuer}/oauth/callback`); // as the first provider has it registered
  return corp.callbackFor(honest.href);
}

describe('a second provider that does not send iss', () => {
  it('has its own redirect URI', async () => {
    const { server, atFirst, atSecond } = await atSecondProvider(await scriptedOauth2('git'));
    expect(redirectOf(atFirst)).toBe(`${server.issuer}/oauth/callback`);
    expect(redirectOf(atSecond)).toBe(`${server.issuer}/oauth/callback/git`);
  });

  it('cannot obtain a code of the first provider', async () => {
    const git = await scriptedOauth2('git');
    const login = await atSecondProvider(git);
    const { server, browser, atSecond } = login;
    expect((await browser.visit(mixedUp(login, server))).status).toBe(400);
    expect(git.provider.to('token')).toEqual([]);
    const { location = '' } = await browser.visit(git.callbackFor(atSecond));
    expect(location.startsWith(CLIENT_REDIRECT)).toBe(true);
    expect(new URL(location).searchParams.get('code')).toBeTypeOf('string');
  });

  it('cannot send its code to the first provider', async () => {
    const [corp, git] = [await scriptedOauth2('corp'), await scriptedOauth2('git')];
    const server = await browserServer(() => ({ corp: corp.entry, git: git.entry }));
    const browser = server.browser();
    const atFirst = await server.toProvider(browser);
    const stolen = deliveredAt(git.callbackFor(atFirst), '/oauth/callback/git');
    expect((await browser.visit(stolen)).status).toBe(400);
    expect((await browser.visit(corp.callbackFor(atFirst))).location).toContain(git.issuer);
  });

  it('cannot use a state with a callback path at the shared callback', async () => {
    const git = await scriptedOauth2('git');
    const { browser, atSecond } = await atSecondProvider(git);
    const url = new URL(deliveredAt(git.callbackFor(atSecond), '/oauth/callback'));
    url.searchParams.set('state', `${url.searchParams.get('state') ?? ''} /oauth/callback/git`);
    expect((await browser.visit(url.href)).status).toBe(400);
    expect((await browser.visit(git.callbackFor(atSecond))).location).toContain('code=');
  });
});

describe('a second OpenID provider', () => {
  it('has its own redirect URI unless its metadata promises iss', async () => {
    const { server, atSecond } = await atSecondProvider(await scriptedOidc('git'));
    expect(redirectOf(atSecond)).toBe(`${server.issuer}/oauth/callback/git`);
  });

  it('shares the callback if its metadata promises iss, which is then required', async () => {
    const git = await scriptedOidc('git', { authorization_response_iss_parameter_supported: true });
    const { server, browser, atSecond } = await atSecondProvider(git);
    expect(redirectOf(atSecond)).toBe(`${server.issuer}/oauth/callback`);
    expect((await browser.visit(git.callbackFor(atSecond))).status).toBe(400);
    expect(git.exchanged).toEqual([]);
  });
});
