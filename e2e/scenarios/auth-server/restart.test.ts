import { readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { decodeJwt } from 'jose';
import * as oauth from 'oauth4webapi';
import { hasRedis, startRedis } from '../../harness/redis.ts';
import { ScriptedBrowser } from '../../harness/browser/scripted-browser.ts';
import { testScope, type Scope } from '../../harness/scope.ts';
import { temporaryFolder } from '../../harness/vmcp.ts';
import { bearer, openBearerSession } from '../bearer-session.ts';
import { MCP_HEADERS, initializeRequest, raw } from '../../harness/clients/raw.ts';
import { newKeys, type Variant } from './manifests.ts';
import { OAuthClient } from './oauth-client.ts';
import { restart, startAuthServer, type Gateway } from './gateway.ts';

/** Restarts a gateway after a login and a second login attempt with an unredeemed code; `fresh` with another state folder. */
async function afterRestart(scope: Scope, variant: Variant, fresh = false) {
  const before = await startAuthServer(scope, variant);
  const client = await OAuthClient.register(before.issuer);
  const browser = new ScriptedBrowser({ user: 'ann' });
  const tokens = await client.login(browser);
  const flow = await client.begin();
  const callback = await browser.login(flow.url);
  const gateway = await restart(scope, before, fresh ? { state: await temporaryFolder(scope) } : {});
  return { gateway, client, browser, tokens, redeem: () => client.redeem(callback, flow) };
}

async function initialize({ url }: Gateway, token: string): Promise<number> {
  const headers = { ...MCP_HEADERS, ...bearer(token) };
  return (await raw(url, { method: 'POST', headers, body: initializeRequest() })).status;
}

const errorOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'granted',
    (error: unknown) => (error instanceof oauth.ResponseBodyError ? error.error : String(error)),
  );

const kvstoreOf = async (scope: Scope) => ({ addr: `127.0.0.1:${String((await startRedis(scope)).port)}` });

describe('after a restart', () => {
  it.runIf(hasRedis)('with persistent keys and a store, all logins continue', async () => {
    const scope = testScope();
    const { gateway, client, browser, tokens, redeem } = await afterRestart(scope, {
      kvstore: await kvstoreOf(scope),
      keys: newKeys(),
    });
    const session = await openBearerSession(gateway.url, tokens.access_token);
    expect((await session.call('files_whoami')).status).toBe(200);
    expect((await session.call('posts_whoami')).status).toBe(200);
    const redeemed = await redeem();
    expect(decodeJwt(redeemed.access_token).sub).toBe(decodeJwt(tokens.access_token).sub);
    expect((await client.refresh(tokens.refresh_token ?? '')).access_token).toBeDefined();
    const asked = browser.pages.length;
    expect(await errorOf(client.login(browser))).toBe('granted');
    expect(browser.pages.slice(asked).filter(({ url }) => url.origin === gateway.issuer)).toEqual([]);
  });

  it('without any setting for keys and storage, all logins continue', async () => {
    const { gateway, client, browser, tokens, redeem } = await afterRestart(testScope(), {});
    const session = await openBearerSession(gateway.url, tokens.access_token);
    expect((await session.call('files_whoami')).status).toBe(200);
    expect((await session.call('posts_whoami')).status).toBe(200);
    expect(decodeJwt((await redeem()).access_token).sub).toBe(decodeJwt(tokens.access_token).sub);
    expect((await client.refresh(tokens.refresh_token ?? '')).access_token).toBeDefined();
    const asked = browser.pages.length;
    expect(await errorOf(client.login(browser))).toBe('granted');
    expect(browser.pages.slice(asked).filter(({ url }) => url.origin === gateway.issuer)).toEqual([]); // consent is remembered
    const folder = join(gateway.vmcp.state, 'auth-servers', 'default%2Fgateway');
    const files = await readdir(folder);
    expect(files.toSorted()).toEqual(['hmac-secret', 'records', 'signing-key.pem']);
    const modes = await Promise.all(files.map(async (file) => (await stat(join(folder, file))).mode & 0o777));
    expect(modes).toEqual([0o600, 0o600, 0o600]);
    expect(gateway.vmcp.output()).not.toMatch(/EphemeralKeys|is configured: |keeps all records in memory/u);
  });

  it('with damaged files of the state folder, clients register and users log in again', async () => {
    const scope = testScope();
    const before = await startAuthServer(scope, {});
    const client = await OAuthClient.register(before.issuer);
    const browser = new ScriptedBrowser({ user: 'ann' });
    const { access_token: token } = await client.login(browser);
    await before.vmcp.stop();
    const folder = join(before.vmcp.state, 'auth-servers', 'default%2Fgateway');
    await Promise.all(['hmac-secret', 'signing-key.pem', 'records'].map((file) => writeFile(join(folder, file), '{')));
    const gateway = await restart(scope, before);
    for (const warning of ['a generated key is unusable', 'the saved logins and clients cannot be read'])
      await expect.poll(gateway.vmcp.output).toContain(warning);
    expect(await initialize(gateway, token)).toBe(401);
    const renewed = await (await OAuthClient.register(gateway.issuer)).login(browser);
    expect(await initialize(gateway, renewed.access_token)).toBe(200);
  });

  it('row 71: with another state folder, old tokens, codes and clients are rejected, and new logins work', async () => {
    const { gateway, client, browser, tokens, redeem } = await afterRestart(testScope(), {}, true);
    expect(await initialize(gateway, tokens.access_token)).toBe(401);
    expect(['invalid_grant', 'invalid_client']).toContain(await errorOf(redeem()));
    expect(['invalid_grant', 'invalid_client']).toContain(await errorOf(client.refresh(tokens.refresh_token ?? '')));
    const again = await OAuthClient.register(gateway.issuer);
    const renewed = await again.login(browser);
    expect(await initialize(gateway, renewed.access_token)).toBe(200);
  });

  it.runIf(hasRedis)(
    'row 71: with another state folder and a store, tokens and codes are invalid, clients are still known',
    async () => {
      const scope = testScope();
      const { gateway, client, browser, tokens, redeem } = await afterRestart(
        scope,
        { kvstore: await kvstoreOf(scope) },
        true,
      );
      expect(await initialize(gateway, tokens.access_token)).toBe(401);
      expect(await errorOf(redeem())).toBe('invalid_grant');
      expect(await errorOf(client.refresh(tokens.refresh_token ?? ''))).toBe('invalid_grant');
      // The client reads the new key set.
      const known = new OAuthClient(await OAuthClient.discover(gateway.issuer, 'oidc'), client.client);
      const renewed = await known.login(browser);
      expect(decodeJwt(renewed.access_token).sub).toBe(decodeJwt(tokens.access_token).sub);
      expect(await initialize(gateway, renewed.access_token)).toBe(200);
    },
  );

  it('with configured keys and another state folder, tokens and codes are invalid', async () => {
    const { gateway, client, tokens, redeem } = await afterRestart(testScope(), { keys: newKeys() }, true);
    expect(await initialize(gateway, tokens.access_token)).toBe(401);
    expect(['invalid_grant', 'invalid_client']).toContain(await errorOf(redeem()));
    expect(['invalid_grant', 'invalid_client']).toContain(await errorOf(client.refresh(tokens.refresh_token ?? '')));
  });
});
