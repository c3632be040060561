import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { ScriptedBrowser } from '../harness/browser/scripted-browser.ts';
import { startHttpBackend } from '../harness/backends/http.ts';
import { freePort } from '../harness/free-port.ts';
import { startIdentityProvider, type IdentityProvider } from '../harness/identity-provider.ts';
import { entry, group, virtualServer, yaml } from '../harness/manifests.ts';
import { eventually } from '../harness/poll.ts';
import { blockScope, testScope } from '../harness/scope.ts';
import { runVmcp, startVmcp, temporaryFolder, vmcpResult, type Run, type Vmcp } from '../harness/vmcp.ts';

const scope = blockScope();
let provider: IdentityProvider;
let vmcp: Vmcp;
let audience: string;

beforeAll(async () => {
  provider = await startIdentityProvider(scope);
  const remote = await startHttpBackend(scope, 'sdk-1-stateful', 'remote');
  const port = await freePort();
  audience = `http://127.0.0.1:${String(port)}/mcp`;
  const inline = { issuer: provider.issuer, audience, scopes: ['mcp:use'] };
  const incomingAuth = { type: 'oidc', oidcConfig: { type: 'inline', inline } };
  const files = { 'a.yaml': yaml(group(), virtualServer({}, { incomingAuth }), entry('remote', remote.url)) };
  vmcp = await startVmcp(scope, { files, port });
});

/** A program that "opens" a URL without doing anything: the test is the user. */
const BROWSER = { BROWSER: 'true' };

/** Waits for the URL of the login, logs in, and opens the redirect like a browser. */
async function logIn(run: Run): Promise<URL> {
  const url = await eventually('the URL of the login', () => /^log in at (\S+)$/mu.exec(run.stderr())?.[1]);
  const browser = new ScriptedBrowser({ user: 'ann', clients: [new URL(url).searchParams.get('redirect_uri') ?? ''] });
  return browser.login(url);
}

const open = async (url: URL): Promise<Response> => fetch(url, { redirect: 'manual' });

describe('vmcp call at an endpoint with logins', () => {
  it('logs in once, then uses and renews the stored login', async () => {
    const state = await temporaryFolder(testScope());
    const args = ['call', 'remote_echo', '--arg', 'text=hello', '--url', vmcp.url, '--state', state];
    const first = await runVmcp(testScope(), args, { env: BROWSER });
    const redirect = await logIn(first);
    const forged = new URL(redirect);
    forged.searchParams.set('state', 'guessed');
    expect((await open(forged)).status).toBe(400);
    expect(first.running()).toBe(true);
    const page = await open(redirect);
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(await page.text()).toContain('You are logged in');
    expect(await first.exited).toMatchObject({ code: 0 });
    expect(first.stdout()).toBe('hello\n');

    const stored = await readdir(join(state, 'logins'));
    expect(stored).toHaveLength(1);
    const file = join(state, 'logins', stored[0] ?? '');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const login = JSON.parse(await readFile(file, 'utf8')) as { tokens: { access_token: string } };
    const { tokens } = login;
    expect(first.output()).not.toContain(tokens.access_token);

    const second = await vmcpResult(testScope(), args);
    expect(second).toMatchObject({ code: 0, stdout: 'hello\n', stderr: '' });

    const expired = { ...login, tokens: { ...tokens, access_token: `${tokens.access_token.slice(0, -8)}AAAAAAAA` } };
    await writeFile(file, JSON.stringify(expired));
    const refreshed = await vmcpResult(testScope(), args);
    expect(refreshed).toMatchObject({ code: 0, stdout: 'hello\n', stderr: '' });
    expect(await readFile(file, 'utf8')).not.toContain('AAAAAAAA');
  });

  it('reports a user who refuses', async () => {
    const state = await temporaryFolder(testScope());
    const run = await runVmcp(testScope(), ['tools', '--url', vmcp.url, '--state', state], { env: BROWSER });
    const redirect = await logIn(run);
    redirect.searchParams.delete('code');
    redirect.searchParams.set('error', 'access_denied');
    await open(redirect);
    expect(await run.exited).toMatchObject({ code: 1 });
    expect(run.stderr()).toContain('the login failed (access_denied): run the command again\n');
  });

  it('leads to the log when the authorization server fails', async () => {
    const state = await temporaryFolder(testScope());
    const run = await runVmcp(testScope(), ['tools', '--url', vmcp.url, '--state', state], { env: BROWSER });
    const redirect = await logIn(run);
    redirect.searchParams.delete('code');
    redirect.searchParams.set('error', 'server_error');
    redirect.searchParams.set('error_description', 'the login at a provider failed\u001b[2J');
    await open(redirect);
    expect(await run.exited).toMatchObject({ code: 1 });
    expect(run.stderr()).toContain(
      'the login failed (server_error: the login at a provider failed\uFFFD[2J): the log of the authorization server says why\n',
    );
  });

  it('accepts a token instead', async () => {
    const VMCP_TOKEN = await provider.token('bob', audience);
    const { code, stdout } = await vmcpResult(testScope(), ['tools', '--url', vmcp.url], { env: { VMCP_TOKEN } });
    expect(code).toBe(0);
    expect(stdout).toContain('remote_echo');
  });

  it('explains a rejected token, and a login without a terminal', async () => {
    const args = ['tools', '--url', vmcp.url];
    const rejected = await vmcpResult(testScope(), args, { env: { VMCP_TOKEN: 'canary' } });
    expect(rejected).toMatchObject({ code: 1, stdout: '' });
    expect(rejected.stderr).toBe(`${vmcp.url} rejects the token: pass another one in VMCP_TOKEN, or none to log in\n`);
    const alone = await vmcpResult(testScope(), args);
    expect(alone).toMatchObject({ code: 1, stdout: '' });
    expect(alone.stderr).toBe(
      `${vmcp.url} requires a login: run the command in a terminal, or pass a token in VMCP_TOKEN\n`,
    );
  });
});
