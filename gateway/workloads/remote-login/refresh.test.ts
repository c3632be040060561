import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { eventually } from '../../../e2e/harness/poll.ts';
import { CredentialError } from '../../outgoing/authenticator.ts';
import type { RemoteLogin } from './remote-login.ts';
import { completeLogin, startLoggedIn, startWorkload, toolNames } from './testdata/remote.ts';

const HOUR = 3_600_000;
const MINUTE = 60_000;

type Started = Awaited<ReturnType<typeof startLoggedIn>>;

const refreshes = ({ server }: Pick<Started, 'server'>): number =>
  server.seen.filter((line) => line === 'grant refresh_token').length;
const stored = ({ values }: Pick<Started, 'values'>) =>
  JSON.parse(values.get('tools_login') ?? '{}') as Record<string, string>;
const bearer = async (login: RemoteLogin): Promise<string> =>
  (await login.authenticator.headers(undefined))['authorization'] ?? '';

async function faultOf(login: RemoteLogin): Promise<string> {
  try {
    await login.authenticator.headers(undefined);
  } catch (error) {
    if (error instanceof CredentialError) return error.fault;
  }
  return 'none';
}

/** Makes the token endpoint answer 503, or cuts its connections. */
const breakTokens = ({ server }: Pick<Started, 'server'>, how: 'status' | 'cut' = 'status'): void => {
  server.intercept = (req, res) => {
    if (req.url !== '/token') return false;
    if (how === 'cut') req.socket.resetAndDestroy();
    else res.writeHead(503).end('<html>we will be back</html>');
    return true;
  };
};

describe('a refresh', () => {
  it('happens before the token expires, and stores the rotated refresh token before the use', async () => {
    const started = await startLoggedIn();
    const { login, time, values, remote, secrets } = started;
    const [before, first] = [await bearer(login), stored(started)['refresh_token']];
    const writes: string[] = [];
    const set = secrets.set.bind(secrets);
    secrets.set = async (name, value) => {
      writes.push(await bearer(login));
      await set(name, value);
    };
    expect(time.pending()).toEqual([HOUR - MINUTE]);
    time.advance(HOUR - MINUTE);
    expect(await bearer(login)).toBe(before); // it is valid for another minute
    await eventually('it is refreshed', async () => (await bearer(login)) !== before);
    expect(refreshes(started)).toBe(1);
    expect(writes).toEqual([before]);
    expect(stored(started)['refresh_token']).not.toBe(first);
    expect(`Bearer ${stored(started)['access_token'] ?? ''}`).toBe(await bearer(login));
    expect(await toolNames(login, remote.url)).toContain('echo');
    expect([...values.keys()].toSorted()).toEqual(['tools_client', 'tools_login']);
  });

  it('is one for concurrent calls, after the expiry and after a 401', async () => {
    const started = await startLoggedIn();
    const { login, time, remote } = started;
    time.advance(2 * HOUR);
    const calls = () => Promise.all(Array.from({ length: 20 }, () => toolNames(login, remote.url)));
    expect((await calls()).every((names) => names.includes('echo'))).toBe(true);
    expect(refreshes(started)).toBe(1);
    const revoked = (await bearer(login)).replace('Bearer ', '');
    remote.rejects = (token) => token === revoked;
    expect((await calls()).every((names) => names.includes('echo'))).toBe(true);
    expect(refreshes(started)).toBe(2);
  });

  it('works after kill -9 behind a rotation: the new token is already stored', async () => {
    const started = await startLoggedIn();
    const { login, time, open, remote } = started;
    time.advance(2 * HOUR);
    await login.authenticator.headers(undefined);
    time.kill();
    const restarted = await open();
    time.advance(2 * HOUR);
    expect(await toolNames(restarted, remote.url)).toContain('echo');
    expect(refreshes(started)).toBe(2);
  });

  it('uses the tokens that a successor with the same login has stored', async () => {
    const started = await startLoggedIn();
    const { login, time, open } = started;
    time.kill();
    time.advance(2 * HOUR);
    const successor = await open();
    const token = await bearer(successor);
    expect(await bearer(login)).toBe(token);
    expect(refreshes(started)).toBe(1);
  });

  it('ends before the login closes', async () => {
    const started = await startLoggedIn();
    const { login, time, server } = started;
    const before = stored(started)['refresh_token'];
    server.intercept = (req) => {
      if (req.url === '/token') void login.close();
      return false;
    };
    time.advance(2 * HOUR);
    await login.close();
    expect(stored(started)['refresh_token']).not.toBe(before);
  });

  it('keeps the login in memory while the secrets cannot be written, and writes it later', async () => {
    const started = await startLoggedIn();
    const { login, time, broken, logged, open } = started;
    broken.isBroken = true;
    time.advance(2 * HOUR);
    const token = await bearer(login);
    expect(`Bearer ${stored(started)['access_token'] ?? ''}`).not.toBe(token);
    expect(logged.join()).toContain('is kept in memory only');
    await expect(open()).rejects.toMatchObject({ isTemporary: true, message: expect.stringContaining('disk full') });
    broken.isBroken = false;
    time.advance(30_000);
    await eventually('it is stored', () => `Bearer ${stored(started)['access_token'] ?? ''}` === token);
  });
});

describe('an outage of the authorization server', () => {
  it.each(['status', 'cut'] as const)('is bridged, becomes auth_retrying, and ends: %s', async (how) => {
    const started = await startLoggedIn();
    const { login, time, states, server, remote } = started;
    breakTokens(started, how);
    time.advance(HOUR);
    expect(await faultOf(login)).toBe('unavailable');
    expect(login.state().kind).toBe('authenticated');
    const asked = server.seen.length;
    expect(await faultOf(login)).toBe('unavailable');
    expect(server.seen).toHaveLength(asked); // a call between two retries sends nothing
    for (const seconds of [10, 20, 40, 80, 120, 30]) await retry(started, seconds * 1_000);
    expect(login.state()).toMatchObject({ kind: 'auth_retrying', reason: expect.stringContaining('the refresh failed') }); // oxfmt-ignore
    expect(await faultOf(login)).toBe('unavailable');
    await retry(started, 10 * MINUTE);
    server.intercept = undefined;
    time.advance(10 * MINUTE);
    await eventually('it is back', () => login.state().kind === 'authenticated');
    expect(states.slice(-2).map(({ kind }) => kind)).toEqual(['auth_retrying', 'authenticated']);
    expect(await toolNames(login, remote.url)).toContain('echo');
  });

  it('ends the login after 24 hours', async () => {
    const started = await startLoggedIn();
    const { login, time } = started;
    breakTokens(started);
    time.advance(HOUR);
    await eventually('it fails', () => time.pending().length > 0);
    await retry(started, 24 * HOUR);
    expect(login.state()).toMatchObject({ kind: 'unauthenticated', reason: expect.stringContaining('no refresh for 24 h') }); // oxfmt-ignore
    expect(time.pending()).toEqual([]);
    expect(await faultOf(login)).toBe('misconfigured');
    started.server.intercept = undefined;
    await login.logIn();
    await completeLogin(login);
  });

  it('does not prevent a start, and is waited for then too', async () => {
    const started = await startLoggedIn();
    const { open, time, server, remote } = started;
    server.intercept = (_, res) => {
      res.writeHead(502).end();
      return true;
    };
    time.kill();
    time.advance(2 * HOUR);
    const restarted = await open();
    expect(await faultOf(restarted)).toBe('unavailable');
    server.intercept = undefined;
    time.advance(10_000);
    await eventually('it is refreshed', async () => (await faultOf(restarted)) === 'none');
    expect(await toolNames(restarted, remote.url)).toContain('echo');
  });

  /** Runs the retry that is due after this time, and waits for its failure. */
  async function retry({ time, server }: Started, ms: number): Promise<void> {
    const asked = server.seen.length;
    time.advance(ms);
    await eventually('it is asked', () => server.seen.length > asked);
    await sleep(20);
  }
});

describe('an end of the login', () => {
  it('is seen at once when the authorization server revokes it', async () => {
    const started = await startLoggedIn();
    const { login, time, server, states } = started;
    const token = await server.provider.RefreshToken.find(stored(started)['refresh_token'] ?? '');
    await token?.destroy();
    time.advance(2 * HOUR);
    expect(await faultOf(login)).toBe('misconfigured');
    expect(login.state()).toEqual({ kind: 'unauthenticated', reason: 'log in again: the refresh was rejected (invalid_grant)' }); // oxfmt-ignore
    expect(states.at(-1)).toEqual(login.state());
    expect(time.pending()).toEqual([]);
    await login.logIn();
    await completeLogin(login);
    expect(await faultOf(login)).toBe('none');
  });

  it.each([
    [400, 'application/json', '{"error":"invalid_request","error_description":"Refresh token is invalid"}'],
    [400, 'text/plain', 'no such token'],
    [401, 'application/json', '{"message":"unauthorized"}'],
  ])('is seen when the authorization server answers %i with %s: %s', async (status, type, body) => {
    const { login, time, server } = await startLoggedIn();
    server.intercept = (req, res) => {
      if (req.url !== '/token') return false;
      res.writeHead(status, { 'content-type': type }).end(body);
      return true;
    };
    time.advance(2 * HOUR);
    expect(await faultOf(login)).toBe('misconfigured');
    expect(login.state()).toMatchObject({ kind: 'unauthenticated', reason: expect.stringContaining('log in again') });
    expect(time.pending()).toEqual([]);
  });

  it('is seen when the client is deleted, and the next login registers again', async () => {
    const started = await startLoggedIn();
    const { login, time, server, config } = started;
    const id = config().cached_client_id ?? '';
    await (server.provider.Client as unknown as { adapter: { destroy(id: string): Promise<void> } }).adapter.destroy(
      id,
    );
    time.advance(2 * HOUR);
    expect(await faultOf(login)).toBe('misconfigured');
    expect(login.state()).toMatchObject({ kind: 'unauthenticated', reason: expect.stringContaining('invalid_client') });
    await login.logIn();
    await completeLogin(login);
    expect(config().cached_client_id).not.toBe(id);
  });

  it('is seen when the remote server rejects new tokens too, and a restart tries again', async () => {
    const started = await startLoggedIn();
    const { login, remote, open } = started;
    remote.rejects = () => true;
    await expect(toolNames(login, remote.url)).rejects.toThrow();
    expect(refreshes(started)).toBe(1);
    expect(login.state()).toMatchObject({ kind: 'unauthenticated', reason: expect.stringContaining('rejects the access token') }); // oxfmt-ignore
    remote.rejects = () => false;
    expect(await toolNames(await open(), remote.url)).toContain('echo');
  });

  it('comes with the access token when there is no refresh token', async () => {
    const started = await startLoggedIn({}, { change: { issueRefreshToken: () => false } });
    const { login, time, open, remote } = started;
    expect(await toolNames(await open(), remote.url)).toContain('echo');
    expect(time.pending()).toEqual([HOUR, HOUR]);
    time.advance(HOUR);
    await eventually('it has ended', () => login.state().kind === 'unauthenticated');
    expect(login.state()).toMatchObject({ reason: expect.stringContaining('there is no refresh token') });
  });
});

describe('a login by hand', () => {
  it('leaves the tokens in use until it succeeds', async () => {
    const started = await startLoggedIn();
    const { login, remote } = started;
    const before = await bearer(login);
    await login.logIn();
    expect(login.state()).toEqual({ kind: 'authenticated' });
    expect(await toolNames(login, remote.url)).toContain('echo');
    expect(await bearer(login)).toBe(before);
  });

  it('is possible for a server that required no login at the start', async () => {
    const started = await startWorkload();
    const { remote, open } = started;
    remote.isOpen = true;
    const login = await open();
    expect(login.state()).toEqual({ kind: 'not_required' });
    remote.isOpen = false;
    await expect(toolNames(login, remote.url)).rejects.toThrow();
    expect(login.state()).toEqual({ kind: 'unauthenticated', reason: 'the remote server now requires a login' });
    await login.logIn();
    await completeLogin(login);
    expect(await toolNames(login, remote.url)).toContain('echo');
  });
});
