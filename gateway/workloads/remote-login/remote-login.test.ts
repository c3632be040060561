import { createServer } from 'node:http';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { HTTP_KINDS } from '../../../e2e/harness/backends/http.ts';
import { hostBackend } from '../../../e2e/harness/backends/host.ts';
import { freePort } from '../../../e2e/harness/free-port.ts';
import { eventually } from '../../../e2e/harness/poll.ts';
import { testScope } from '../../../e2e/harness/scope.ts';
import { forgetRemoteLogin } from './stored-record.ts';
import { answer, completeLogin, startLoggedIn, startWorkload, toolNames, workload } from './testdata/remote.ts';

const parametersOf = (url: string) => Object.fromEntries(new URL(url).searchParams);
const ended = (login: { state: () => { kind: string } }) =>
  eventually('the attempt ends', () => login.state().kind === 'unauthenticated');

describe('the login at a remote server', () => {
  it('registers a client, logs in with PKCE, and gives a real client access', async () => {
    const { remote, port, open, states, config, values, logged } = await startWorkload();
    const opened: string[] = [];
    const login = await open({ openBrowser: (url) => void opened.push(url) });
    expect(opened).toHaveLength(1);
    expect(login.state()).toMatchObject({ kind: 'login_required', loginUrl: opened[0] });
    expect(parametersOf(opened[0]!)).toMatchObject({
      ...{ response_type: 'code', code_challenge_method: 'S256', resource: remote.url, prompt: 'consent' },
      ...{ scope: 'openid mcp:use offline_access', redirect_uri: `http://127.0.0.1:${String(port)}/callback` },
    });
    await completeLogin(login);
    expect(states.map(({ kind }) => kind)).toEqual(['login_required', 'authenticated']);
    expect(await toolNames(login, remote.url)).toContain('echo');
    expect(config()).toEqual({
      ...{ callback_port: port, cached_client_id: expect.any(String), cached_refresh_token_ref: 'tools_login' },
      ...{ cached_reg_token_ref: 'tools_client', cached_token_expiry: expect.stringMatching(/^20\d\d-.*Z$/u) },
    });
    expect([...values.keys()].toSorted()).toEqual(['tools_client', 'tools_login']);
    const { access_token, refresh_token } = JSON.parse(values.get('tools_login') ?? '') as Record<string, string>;
    const { registration_token } = JSON.parse(values.get('tools_client') ?? '') as Record<string, string>;
    const shown = logged.join() + JSON.stringify([config(), states]);
    for (const secret of [access_token, refresh_token, registration_token]) expect(shown).not.toContain(secret);
  });

  it('sends nothing to a server that requires no login', async () => {
    const { url } = await hostBackend(testScope(), '/mcp', HTTP_KINDS['sdk-1-stateful'].create('remote'));
    const login = await workload(url).open();
    expect(login.state()).toEqual({ kind: 'not_required' });
    expect(login.authenticator.headers(undefined)).toEqual({});
    expect(await toolNames(login, url)).toContain('echo');
  });

  it('probes a server of the HTTP+SSE transport with GET', async () => {
    const { url } = await hostBackend(testScope(), '/sse', async (req, res) => {
      if (req.method === 'GET')
        res.writeHead(200, { 'content-type': 'text/event-stream' }).write('event: endpoint\n\n');
      else res.writeHead(405).end();
    });
    expect((await workload(url).open()).state()).toEqual({ kind: 'not_required' });
  });

  it('restores the stored login after a restart, even after kill -9', async () => {
    const { remote, server, open } = await startLoggedIn();
    const asked = server.seen.length;
    const restarted = await open();
    expect(restarted.state()).toEqual({ kind: 'authenticated' });
    expect(await toolNames(restarted, remote.url)).toContain('echo');
    expect(server.seen.slice(asked)).toEqual([]);
  });

  it('restores nothing after the workload is deleted', async () => {
    const { open, secrets, values } = await startLoggedIn();
    await forgetRemoteLogin('tools', secrets);
    expect(values.size).toBe(0);
    expect((await open()).state().kind).toBe('login_required');
  });

  it('does not send stored tokens to another remote URL, client or issuer (row 77)', async () => {
    const { open, config, remote } = await startLoggedIn();
    const other = await startWorkload();
    for (const change of [
      { remoteUrl: other.remote.url },
      { config: { ...config(), client_id: 'another' } },
      { config: { ...config(), resource: `${remote.url}/other` } },
      { config: { ...config(), scopes: ['mcp:admin'] } },
    ]) {
      const login = await open(change);
      expect(login.state().kind).toBe('login_required');
      await login.close();
    }
    await expect(open({ config: { ...config(), issuer: 'https://127.0.0.1:9' } })).rejects.toMatchObject({
      ...{ isTemporary: true, message: expect.stringContaining('cannot be reached') },
    });
    expect(other.remote.tokens.filter(Boolean)).toEqual([]);
  });

  it('requests what the configuration says', async () => {
    const { open, port } = await startWorkload({
      ...{ scopes: ['mcp:use'], scope_param_name: 'user_scope', resource: '', use_pkce: false },
      ...{ oauth_params: { audience: 'tools' }, skip_browser: true },
    });
    const opened: string[] = [];
    const url = await (await open({ openBrowser: (one) => void opened.push(one) })).logIn();
    expect(parametersOf(url)).toEqual({
      ...{ client_id: expect.any(String), response_type: 'code', state: expect.stringMatching(/^[\w-]{43}$/u) },
      ...{ user_scope: 'mcp:use', audience: 'tools', redirect_uri: `http://127.0.0.1:${String(port)}/callback` },
    });
    expect(opened).toEqual([]);
  });

  it('rejects parameters that it sets itself', async () => {
    const { open } = await startWorkload({ oauth_params: { state: 'x' } });
    await expect(open()).rejects.toThrow('oauth_params.state: the gateway sets this parameter itself');
  });
});

describe('a login attempt', () => {
  it('ignores another state, and fails for another issuer, a denial and a forged code', async () => {
    const { open, server, values } = await startWorkload();
    const login = await open();
    const start = login.state() as { loginUrl: string };
    expect(await answer(start.loginUrl, 'ann', { state: 'forged' })).toBe(400);
    expect(login.state()).toEqual(start);
    for (const [change, reason] of [
      [{ iss: 'https://evil.example' }, 'the callback arrived with the iss of another provider'],
      [{ error: 'access_denied' }, 'the provider returned an error in the callback (access_denied)'],
      [{ code: 'forged' }, 'the code exchange was rejected (invalid_grant)'],
    ] as const) {
      await answer(await login.logIn(), 'ann', change);
      await ended(login);
      expect(login.state()).toEqual({ kind: 'unauthenticated', reason });
    }
    expect(server.seen.filter((line) => line.startsWith('grant '))).toEqual([]);
    expect(values.has('tools_login')).toBe(false);
  });

  it('ends after the timeout', async () => {
    const { open } = await startWorkload({ timeout: '50ms' });
    const login = await open();
    await ended(login);
    expect(login.state()).toMatchObject({ reason: 'nobody logged in within 50ms: start the login again' });
    expect(() => login.authenticator.headers(undefined)).toThrow('nobody logged in within 50ms');
  });

  it('is ended by a new one', async () => {
    const { open } = await startWorkload();
    const login = await open();
    const { loginUrl } = login.state() as { loginUrl: string };
    const [first, second] = await Promise.all([login.logIn(), login.logIn()]);
    expect(new Set([loginUrl, first, second]).size).toBe(3);
    expect(await answer(first)).toBe(400); // the port is that of the second attempt now
    expect(login.state()).toMatchObject({ kind: 'login_required', loginUrl: second });
    await completeLogin(login);
  });

  it('uses the registered client again, and registers anew when no redirect came', async () => {
    const { open, server } = await startWorkload({ timeout: '1s' });
    const registrations = () => server.seen.filter((line) => line === 'POST /reg').length;
    const login = await open();
    await login.logIn();
    expect(registrations()).toBe(1);
    await answer(await login.logIn(), 'ann', { error: 'access_denied' });
    await ended(login);
    await login.logIn();
    expect(registrations()).toBe(1);
    await ended(login);
    await login.logIn();
    expect(registrations()).toBe(2);
  });

  it('uses the next free port when it registers, and registers that', async () => {
    const port = await freePort(2);
    const taken = createServer().listen(port, '127.0.0.1');
    onTestFinished(() => void taken.close());
    const login = await (await startWorkload({ callback_port: port })).open();
    const { redirect_uri } = parametersOf((login.state() as { loginUrl: string }).loginUrl);
    expect(redirect_uri).toBe(`http://127.0.0.1:${String(port + 1)}/callback`);
    await completeLogin(login);
  });
});

describe('a configured client', () => {
  const CLIENT = { client_id: 'by-hand', client_secret: 'secret-of-the-client-that-is-by-hand' };

  async function withClient(method: 'client_secret_basic' | 'client_secret_post') {
    const port = await freePort();
    const redirect_uris = [`http://localhost:${String(port)}/callback`];
    const client = { ...CLIENT, redirect_uris, grant_types: ['authorization_code', 'refresh_token'] };
    const clients = [{ ...client, application_type: 'native' as const, token_endpoint_auth_method: method }];
    const settings = { client_id: CLIENT.client_id, client_secret: 'OAUTH_SECRET,target=x', callback_port: port };
    const started = await startWorkload(settings, { change: { clients } });
    started.user.set('OAUTH_SECRET', CLIENT.client_secret);
    return started;
  }

  it('logs in with its secret and the redirect URI of the contract', async () => {
    const { open, remote, values, port } = await withClient('client_secret_basic');
    const login = await open();
    const { redirect_uri, client_id } = parametersOf((login.state() as { loginUrl: string }).loginUrl);
    expect([client_id, redirect_uri]).toEqual(['by-hand', `http://localhost:${String(port)}/callback`]);
    await completeLogin(login);
    expect(await toolNames(login, remote.url)).toContain('echo');
    expect([...values.keys()]).toEqual(['tools_login']);
    expect(JSON.stringify([...values])).not.toContain(CLIENT.client_secret);
  });

  it('works with endpoints instead of an issuer, and a server that accepts the secret in the form only', async () => {
    const { open, server, config, remote, time } = await withClient('client_secret_post');
    const endpoints = { authorize_url: `${server.issuer}/auth`, token_url: `${server.issuer}/token` };
    const login = await open({ config: { ...config(), ...endpoints, scopes: ['openid', 'mcp:use'] } });
    await completeLogin(login);
    time.advance(3_600_000);
    expect(await toolNames(login, remote.url)).toContain('echo');
    expect(server.seen.filter((line) => line.includes('.well-known'))).toEqual([]);
  });

  it('rejects a port in use and a missing secret, and quotes no secret', async () => {
    const { open, port, user, config } = await withClient('client_secret_basic');
    const taken = createServer().listen(port, '127.0.0.1');
    await expect(open()).rejects.toThrow(`port ${String(port)} is in use: set callback_port`);
    taken.close();
    user.clear();
    await expect(open()).rejects.toThrow('client_secret: there is no secret "OAUTH_SECRET": create it');
    const client_secret = 'value-by-mistake';
    const error = (await open({ config: { ...config(), client_secret } }).catch((one: unknown) => one)) as Error;
    expect(error.message).toBe('client_secret is not a reference: write NAME,target=TARGET');
  });
});

describe('a fixed bearer token', () => {
  it('is sent from a secret, and followed when it changes', async () => {
    const { remote, open, user, time } = await startWorkload({ bearer_token: 'API_KEY,target=bearer' });
    user.set('API_KEY', 'wrong');
    const login = await open();
    expect(login.state()).toEqual({ kind: 'authenticated' });
    await expect(toolNames(login, remote.url)).rejects.toThrow();
    expect(login.state()).toMatchObject({ kind: 'unauthenticated' });
    expect(remote.tokens).toEqual(['Bearer wrong', 'Bearer wrong']);
    user.set('API_KEY', 'right');
    time.advance(10_000);
    expect(await login.authenticator.headers(undefined)).toEqual({ authorization: 'Bearer right' });
    expect(login.state()).toEqual({ kind: 'authenticated' });
    await expect(login.logIn()).rejects.toThrow('bearer_token is configured');
  });

  it('is read from a file, and must exist', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'vmcp-remote-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const bearer_token_file = join(folder, 'token');
    const { open } = workload('https://tools.example.com/mcp', { bearer_token_file });
    await expect(open()).rejects.toThrow(`bearer_token_file: ${bearer_token_file} cannot be read (ENOENT)`);
    await writeFile(bearer_token_file, 'from-file\n');
    expect(await (await open()).authenticator.headers(undefined)).toEqual({ authorization: 'Bearer from-file' });
  });
});
