import { describe, expect, it } from 'vitest';
import { CredentialError } from './authenticator.ts';
import { createAuthenticator } from './index.ts';
import { callerOf } from './testdata/callers.ts';
import { credentialError, strategyWorld } from './testdata/strategy-deps.ts';
import type { UpstreamToken } from './upstream-tokens.ts';

const ENTRY = { type: 'upstream_inject', provider_name: 'github' };

async function injecting(entry: typeof ENTRY & Record<string, unknown> = ENTRY) {
  const world = await strategyWorld();
  const alice = callerOf('alice', world.now());
  const owner = { tsid: 'tsid-of-alice', subject: 'alice', clientId: 'desktop' };
  return { ...world, alice, owner, authenticator: createAuthenticator(entry, world.deps) };
}

describe('upstreamInject', () => {
  it('sends the stored token instead of the token of the user, in headers that later calls reuse', async () => {
    const { authenticator, tokens, alice, owner, now } = await injecting();
    tokens.put(owner, 'github', { accessToken: 'upstream', expiresIn: 3_600 });
    expect(authenticator.perUser).toBe(true);
    expect(authenticator.provider).toBe('github');
    const headers = authenticator.headers(alice);
    expect(headers).toEqual({ authorization: 'Bearer upstream' });
    expect(authenticator.headers(alice)).toBe(headers);
    expect(authenticator.headers(callerOf('alice', now()))).toBe(headers);
  });

  it('sends the token in the custom header only, if one is configured', async () => {
    const entry = { ...ENTRY, header_strategy: 'custom', custom_header_name: 'X-Upstream-Token' };
    const { authenticator, tokens, alice, owner } = await injecting(entry);
    tokens.put(owner, 'github', { accessToken: 'upstream' });
    expect(authenticator.headers(alice)).toEqual({ 'x-upstream-token': 'Bearer upstream' });
  });

  it('waits for one refresh that all parallel calls share', async () => {
    const { authenticator, tokens, alice, owner, advance } = await injecting();
    let refreshes = 0;
    const refresh = async () => {
      refreshes += 1;
      return { accessToken: 'refreshed', expiresIn: 3_600 };
    };
    tokens.put(owner, 'github', { accessToken: 'old', expiresIn: 100, refresh });
    advance(100_000);
    const all = await Promise.all(Array.from({ length: 20 }, async () => authenticator.headers(alice)));
    expect(new Set(all)).toEqual(new Set([{ authorization: 'Bearer refreshed' }]));
    expect(refreshes).toBe(1);
  });

  it('obtains another token after a 401 and uses it from then on', async () => {
    const { authenticator, tokens, alice, owner, now } = await injecting();
    const given = ['second', 'third'];
    const refresh = async () => ({ accessToken: given.shift() ?? 'none', expiresIn: 3_600 });
    tokens.put(owner, 'github', { accessToken: 'first', expiresIn: 3_600, refresh });
    const sent = await authenticator.headers(alice);
    expect(authenticator.refused(alice, sent)).toBe(true);
    expect(await authenticator.headers(alice)).toEqual({ authorization: 'Bearer second' });
    expect(await authenticator.headers(alice)).toEqual({ authorization: 'Bearer second' });
    // A late 401 to the first token costs no refresh: the store holds another one.
    expect(authenticator.refused(alice, sent)).toBe(true);
    expect(await authenticator.headers(alice)).toEqual({ authorization: 'Bearer second' });
    expect(await authenticator.headers(callerOf('alice', now()))).toEqual({ authorization: 'Bearer second' });
    expect(given).toEqual(['third']);
  });

  it('requires a login after a 401 when the token cannot be refreshed', async () => {
    const { authenticator, tokens, alice, owner } = await injecting();
    tokens.put(owner, 'github', { accessToken: 'first' });
    authenticator.refused(alice, await authenticator.headers(alice));
    expect(await credentialError(() => authenticator.headers(alice))).toMatchObject({
      fault: 'reauthenticate',
      provider: 'github',
    });
  });

  it('does not retry with headers that it has not sent', async () => {
    const { authenticator, alice } = await injecting();
    expect(authenticator.refused(alice, { 'x-key': 'Bearer other' })).toBe(false);
    expect(authenticator.refused(alice, { authorization: 'Basic other' })).toBe(false);
    expect(authenticator.refused(undefined, { authorization: 'Bearer other' })).toBe(false);
  });

  it('never uses the token of another user or client, even with the tsid of that login', async () => {
    const { authenticator, tokens, owner, now } = await injecting();
    tokens.put(owner, 'github', { accessToken: 'of-alice' });
    const thief = callerOf('bob', now(), { tsid: 'tsid-of-alice' });
    const otherClient = callerOf('alice', now(), { clientId: 'browser' });
    for (const caller of [thief, otherClient, callerOf('bob', now())]) {
      expect(await credentialError(() => authenticator.headers(caller))).toMatchObject({
        fault: 'reauthenticate',
        provider: 'github',
      });
    }
  });

  it.each(['a\r\nX-Admin: yes', 'a\nb', 'a\0b', 'a b', 'tökén', ''])(
    'treats the stored token %j as missing',
    async (accessToken) => {
      const { authenticator, tokens, alice, owner } = await injecting();
      tokens.put(owner, 'github', { accessToken });
      const error = await credentialError(() => authenticator.headers(alice));
      expect(error).toMatchObject({ fault: 'reauthenticate', provider: 'github' });
      expect(error.message).not.toContain('X-Admin');
    },
  );

  it('rejects an anonymous user, a token without a login, and a gateway without a store', async () => {
    const { authenticator, deps, alice, now } = await injecting();
    expect((await credentialError(() => authenticator.headers(undefined))).fault).toBe('misconfigured');
    const delegated = callerOf('alice', now(), { tsid: undefined });
    expect((await credentialError(() => authenticator.headers(delegated))).fault).toBe('reauthenticate');
    const storeless = createAuthenticator(ENTRY, { ...deps, upstreamTokens: undefined });
    expect((await credentialError(() => storeless.headers(alice))).fault).toBe('misconfigured');
  });

  it('reports that the store or the provider is unavailable', async () => {
    const { authenticator, tokens, alice, owner, deps } = await injecting();
    tokens.put(owner, 'github', { accessToken: 'upstream' });
    tokens.down = true;
    expect((await credentialError(() => authenticator.headers(alice))).fault).toBe('store_unavailable');
    const away = { get: (): Promise<UpstreamToken> => Promise.reject(new CredentialError('unavailable', 'away')) };
    const waiting = createAuthenticator(ENTRY, { ...deps, upstreamTokens: away });
    expect((await credentialError(() => waiting.headers(alice))).fault).toBe('unavailable');
  });

  it('sends each user’s own token when all users refresh at once', async () => {
    const { authenticator, tokens, now, advance } = await injecting();
    const users = Array.from({ length: 30 }, (_, n) => `user${String(n)}`);
    for (const subject of users) {
      const refresh = async () => ({ accessToken: `new-of-${subject}`, expiresIn: 3_600 });
      const owner = { tsid: `tsid-of-${subject}`, subject, clientId: 'desktop' };
      tokens.put(owner, 'github', { accessToken: `old-of-${subject}`, expiresIn: 100, refresh });
    }
    advance(100_000);
    const got = await Promise.all(users.map(async (subject) => authenticator.headers(callerOf(subject, now()))));
    expect(got).toEqual(users.map((subject) => ({ authorization: `Bearer new-of-${subject}` })));
  });
});
