import { decodeJwt } from 'jose';
import { expect, it } from 'vitest';
import { ScriptedBrowser } from '../../harness/browser/scripted-browser.ts';
import { testScope } from '../../harness/scope.ts';
import { CLIENT_METADATA, ScriptedLogin } from '../scripted-login.ts';
import { SDKS } from '../sdk-login.ts';
import { restart, startAuthServer } from './gateway.ts';
import { newKeys } from './manifests.ts';
import { OAuthClient } from './oauth-client.ts';

const ROOM = 2;
const RATES = { registrationsPerMinute: 1_000, registrationsPerMinuteOverall: 1_000 };

it('row 114: clients register and log in while the table of clients is full, and after a restart', async () => {
  const scope = testScope();
  const gateway = await startAuthServer(scope, {
    keys: newKeys(),
    authServer: { storage: { type: 'memory', maxDCRClients: ROOM }, rateLimits: RATES },
  });
  const flood = async () => {
    for (let count = 0; count < 5 * ROOM; count += 1) {
      const body = JSON.stringify(CLIENT_METADATA);
      const headers = { 'content-type': 'application/json' };
      const made = await fetch(`${gateway.issuer}/oauth/register`, { method: 'POST', headers, body });
      expect(made.status).toBe(201);
    }
  };
  await flood();
  for (const [name, connect] of SDKS) {
    const user = name.toLowerCase().replaceAll(/\W+/gu, '-');
    const login = new ScriptedLogin(user);
    const closing: (() => unknown)[] = [];
    const client = await connect({ defer: (stop) => void closing.push(stop) }, gateway.url, login);
    expect(login.clientId).toMatch(/^vcl_[\w-]{8}\.[\w-]{100,300}$/u);
    expect(decodeJwt(login.accessToken)['client_id']).toBe(login.clientId);
    await flood();
    login.spoilAccessToken();
    expect(JSON.parse(await client.call('files_whoami'))).toMatchObject({ sub: user });
    expect({ logins: login.logins, grants: login.grants }).toEqual({ logins: 1, grants: 2 });
    for (const stop of closing) await stop(); // before the restart, which ends the logins
  }
  const late = await OAuthClient.register(gateway.issuer);
  for (const unknown of ['vcl_unknown', late.client.client_id.slice(0, -1), `${late.client.client_id}=`]) {
    const page = await fetch(`${gateway.issuer}/oauth/authorize?client_id=${encodeURIComponent(unknown)}`);
    expect([page.status, await page.text()]).toEqual([400, expect.stringContaining('not known here')]);
  }
  await restart(scope, gateway);
  expect((await late.login(new ScriptedBrowser({ user: 'ann' }))).access_token).toBeDefined();
});
