import * as oauth from 'oauth4webapi';
import { beforeAll, describe, expect, it } from 'vitest';
import { ScriptedBrowser } from '../../harness/browser/scripted-browser.ts';
import { blockScope, testScope } from '../../harness/scope.ts';
import { bearerOf } from '../credential-backend.ts';
import { openBearerSession, type BearerSession } from '../bearer-session.ts';
import { ScriptedLogin } from '../scripted-login.ts';
import { SDKS } from '../sdk-login.ts';
import { OAuthClient } from './oauth-client.ts';
import { startAuthServer, type Gateway } from './gateway.ts';
import { credentialAt } from './surroundings.ts';

const scope = blockScope();
let gateway: Gateway;
let client: OAuthClient;

beforeAll(async () => {
  gateway = await startAuthServer(scope);
  client = await OAuthClient.register(gateway.issuer);
  const { chat, backends } = gateway.around;
  // Expired for the gateway, which refreshes a minute before the end.
  chat.accessSeconds = 30;
  backends.posts.refuses = ({ authorization }) => chat.userOf(bearerOf({ authorization }) ?? '') === undefined;
});

async function loggedIn(user: string) {
  const browser = new ScriptedBrowser({ user });
  const tokens = await client.login(browser);
  return { browser, tokens, session: await openBearerSession(gateway.url, tokens.access_token) };
}

const statusOf = async (session: BearerSession, tool: string) => (await session.call(tool)).status;
const refreshed = (token: string | undefined) =>
  client.refresh(token ?? '').then(
    () => 'granted',
    (error: unknown) => (error instanceof oauth.ResponseBodyError ? error.error : String(error)),
  );

describe('a stored upstream token', () => {
  it('is refreshed with a rotating refresh token before it expires, once for many calls', async () => {
    const { session } = await loggedIn('ann');
    const { chat, backends } = gateway.around;
    expect(await statusOf(session, 'posts_whoami')).toBe(200);
    const first = credentialAt(backends.posts);
    const before = chat.counts.refresh;
    const answers = await Promise.all(Array.from({ length: 12 }, () => statusOf(session, 'posts_whoami')));
    expect(new Set(answers)).toEqual(new Set([200]));
    expect(chat.counts.refresh - before).toBeLessThanOrEqual(2);
    expect(chat.userOf(credentialAt(backends.posts) ?? '')).toBe('ann');
    expect(first).toBeDefined();
  });

  it('whose provider is down fails only the calls of its backend, without a challenge', async () => {
    const { session, tokens } = await loggedIn('bob');
    const { chat } = gateway.around;
    chat.accessSeconds = 1;
    expect(await statusOf(session, 'posts_whoami')).toBe(200);
    chat.down = true;
    try {
      await new Promise((resolve) => setTimeout(resolve, 1_100));
      const answer = await session.call('posts_whoami');
      expect(answer.status).not.toBe(401);
      expect(answer.body).toMatch(/"(?:error|isError)":/u);
      expect(await statusOf(session, 'files_whoami')).toBe(200);
      expect(await refreshed(tokens.refresh_token)).toBe('granted');
    } finally {
      chat.down = false;
      chat.accessSeconds = 30;
    }
    expect(await statusOf(session, 'posts_whoami')).toBe(200);
  });

  it('that is revoked gives a challenge for its backend only, and no refresh loop', async () => {
    const { session, tokens, browser } = await loggedIn('carl');
    const { chat } = gateway.around;
    expect((await session.post('tools/list')).body).toContain('posts_whoami');
    chat.revoke('carl');
    const challenged = await session.call('posts_whoami');
    expect(challenged.status).toBe(401);
    expect(challenged.headers['www-authenticate']).toMatch(/error="invalid_token".*chat|chat.*error="invalid_token"/u);
    expect(await statusOf(session, 'files_whoami')).toBe(200);
    expect((await session.post('tools/list')).body).toContain('posts_whoami');
    expect(await refreshed(tokens.refresh_token)).toBe('invalid_grant');

    const logins = chat.counts.login;
    const again = await openBearerSession(gateway.url, (await client.login(browser)).access_token);
    expect(chat.counts.login).toBe(logins + 1);
    for (const tool of ['posts_whoami', 'files_whoami', 'vault_whoami']) expect(await statusOf(again, tool)).toBe(200);
  });

  it.each(SDKS)('that is revoked makes %s log in again, and then the call succeeds', async (name, connect) => {
    const user = `dead-${name.replaceAll(/\W+/gu, '-')}`;
    const login = new ScriptedLogin(user);
    const connected = await connect(testScope(), gateway.url, login);
    expect(JSON.parse(await connected.call('posts_whoami'))).toEqual({ opaque: true });
    gateway.around.chat.revoke(user);
    await expect(connected.call('posts_whoami')).rejects.toThrow(/unauthorized/iu);
    expect(login.logins).toBe(2);
    await connected.finishLogin();
    expect(JSON.parse(await connected.call('posts_whoami'))).toEqual({ opaque: true });
    expect(JSON.parse(await connected.call('files_whoami'))).toMatchObject({ sub: user });
  });
});
