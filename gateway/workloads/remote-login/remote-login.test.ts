import { describe, expect, it } from 'vitest';
import { eventually } from '../../../e2e/harness/poll.ts';
import { testScope } from '../../../e2e/harness/scope.ts';
import type { RemoteLogin } from './remote-login.ts';
import { startAuthorizationServer } from './testdata/authorization-server.ts';
import { answer, startRemote, toolNames, workload } from './testdata/remote.ts';

const urlOf = (login: RemoteLogin): string => {
  const state = login.state();
  return state.kind === 'login_required' ? state.loginUrl : '';
};

const loggedIn = (login: RemoteLogin) => eventually('it is logged in', () => login.state().kind === 'authenticated');

async function setUp() {
  const server = await startAuthorizationServer(testScope());
  const remote = await startRemote(server);
  return { server, remote, ...workload(remote.url) };
}

describe('the login at a remote server', () => {
  it('registers a client, logs in with PKCE, and gives a real client access', async () => {
    const { remote, open, states, config, values, logged } = await setUp();
    const login = await open();
    const url = new URL(urlOf(login));
    expect(Object.fromEntries(url.searchParams)).toMatchObject({
      ...{ response_type: 'code', code_challenge_method: 'S256', resource: remote.url, prompt: 'consent' },
      ...{ scope: 'openid mcp:use offline_access', redirect_uri: 'http://127.0.0.1:8666/callback' },
    });
    expect(await answer(url.href)).toBe(200);
    await loggedIn(login);
    expect(states.map(({ kind }) => kind)).toEqual(['login_required', 'authenticated']);
    expect(await toolNames(login, remote.url)).toContain('echo');
    expect(config()).toEqual({
      ...{ cached_client_id: expect.any(String), cached_refresh_token_ref: 'tools_login' },
      cached_reg_token_ref: 'tools_client',
      cached_token_expiry: expect.stringMatching(/^20\d\d-.*Z$/u),
    });
    expect([...values.keys()].toSorted()).toEqual(['tools_client', 'tools_login']);
    const { access_token, refresh_token } = JSON.parse(values.get('tools_login') ?? '') as Record<string, string>;
    for (const secret of [access_token, refresh_token]) expect(logged.join() + JSON.stringify(config())).not.toContain(secret); // prettier-ignore
  });
});
