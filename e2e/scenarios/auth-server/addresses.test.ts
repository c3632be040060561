import { describe, expect, it } from 'vitest';
import { raw } from '../../harness/clients/raw.ts';
import { ScriptedBrowser } from '../../harness/browser/scripted-browser.ts';
import { testScope } from '../../harness/scope.ts';
import { ScriptedLogin } from '../scripted-login.ts';
import { SDKS } from '../sdk-login.ts';
import { startAuthServer } from './gateway.ts';
import { OAuthClient } from './oauth-client.ts';

const VARIANTS = [
  ['below a path', { path: '/tenant/one' }],
  ['with another host for browsers', { browserHost: 'localhost' }],
  ['below a path with another host for browsers', { path: '/tenant', browserHost: 'localhost' }],
] as const;

describe.each(VARIANTS)('an issuer %s', (_what, variant) => {
  it('is found through the challenge, and logs users in', async () => {
    const scope = testScope();
    const gateway = await startAuthServer(scope, variant);
    for (const [name, connect] of SDKS) {
      const user = name.toLowerCase().replaceAll(/\W+/gu, '-');
      const client = await connect(scope, gateway.url, new ScriptedLogin(user));
      expect(JSON.parse(await client.call('files_whoami'))).toMatchObject({ sub: user });
    }
    const client = await OAuthClient.register(gateway.issuer);
    const { issuer, authorization_endpoint: authorize, ...others } = client.server;
    expect(issuer).toBe(gateway.issuer);
    const browserHost = 'browserHost' in variant ? variant.browserHost : '127.0.0.1';
    expect(authorize).toBe(`${gateway.issuer.replace('127.0.0.1', browserHost)}/oauth/authorize`);
    for (const [member, url] of Object.entries(others))
      if (typeof url === 'string') expect(url.startsWith(`${gateway.issuer}/`), member).toBe(true);
    expect((await client.login(new ScriptedBrowser({ user: 'ann' }))).access_token).toBeDefined();
  });

  it('row 49: comes from the configuration, never from a request', async () => {
    const gateway = await startAuthServer(testScope(), variant);
    const document = new URL(
      `/.well-known/oauth-authorization-server${new URL(gateway.issuer).pathname}`,
      gateway.issuer,
    );
    const url = document.href.replace(/\/$/u, '');
    const headers = {
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'https',
      forwarded: 'host=evil.example',
    };
    const [plain, forged] = [await raw(url), await raw(url, { headers })];
    expect(plain.status).toBe(200);
    expect(forged.body).toBe(plain.body);
    const challenged = await raw(gateway.url, { method: 'POST', headers });
    expect(challenged.status).toBe(401);
    expect(challenged.headers['www-authenticate']).not.toContain('evil');
  });
});
