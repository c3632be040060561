import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { decodeJwt, exportJWK, generateKeyPair, type CryptoKey, type GenerateKeyPairResult } from 'jose';
import * as oauth from 'oauth4webapi';
import { beforeAll, describe, expect, it } from 'vitest';
import { ScriptedBrowser } from '../../harness/browser/scripted-browser.ts';
import { blockScope } from '../../harness/scope.ts';
import { startAuthServer, type Gateway } from './gateway.ts';
import { OAuthClient } from './oauth-client.ts';

const REDIRECT = 'https://confidential.example/callback';

const scope = blockScope();
let gateway: Gateway;
let keys: GenerateKeyPairResult;
let clientId: string;

beforeAll(async () => {
  keys = await generateKeyPair('ES256');
  clientId = await publish();
  gateway = await startAuthServer(scope, { authServer: { cimd: { allowLoopbackHTTP: true } } });
}, 60_000);

/** Publishes a metadata document of a client with a key and returns its URL. */
async function publish(): Promise<string> {
  const jwk = { ...(await exportJWK(keys.publicKey)), kid: 'k1', use: 'sig' };
  const server = createServer((req, res) => {
    const origin = `http://${req.headers.host ?? ''}`;
    const document = {
      client_id: `${origin}/client.json`,
      client_name: 'web application',
      redirect_uris: [REDIRECT],
      token_endpoint_auth_method: 'private_key_jwt',
      jwks_uri: `${origin}/keys`,
    };
    res.writeHead(200, { 'content-type': 'application/json' });
    res.end(JSON.stringify(req.url === '/keys' ? { keys: [jwk] } : document));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  scope.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/client.json`;
}

async function clientWith(authentication: oauth.ClientAuth): Promise<OAuthClient> {
  return new OAuthClient(await OAuthClient.discover(gateway.issuer, 'oidc'), { client_id: clientId }, authentication);
}

const byKey = (key: CryptoKey) => oauth.PrivateKeyJwt({ key, kid: 'k1' });
const browser = (user: string) => new ScriptedBrowser({ user, clients: [REDIRECT] });
const LOGIN = { redirectUri: REDIRECT, scope: 'openid' };

describe('oauth4webapi as a client with a metadata document and a key', () => {
  it('logs in, refreshes, introspects and revokes, each time with a new assertion', async () => {
    const client = await clientWith(byKey(keys.privateKey));
    expect(client.server.token_endpoint_auth_methods_supported).toContain('private_key_jwt');
    expect(client.server.token_endpoint_auth_signing_alg_values_supported).toContain('ES256');
    const tokens = await client.login(browser('gina'), LOGIN);
    expect(decodeJwt(tokens.access_token)).toMatchObject({ client_id: clientId, aud: gateway.url });
    const renewed = await client.refresh(tokens.refresh_token ?? '');
    expect(await client.introspect(renewed.access_token)).toMatchObject({ active: true, client_id: clientId });
    await client.revoke(renewed.access_token);
    expect(await client.introspect(renewed.refresh_token ?? '')).toEqual({ active: false });
  });

  it.each<[string, () => oauth.ClientAuth | Promise<oauth.ClientAuth>]>([
    ['without its key', () => oauth.None()],
    ['with a key of somebody else', async () => byKey((await generateKeyPair('ES256')).privateKey)],
    ['with a secret', () => oauth.ClientSecretPost('secret')],
  ])('is rejected %s', async (_, authentication) => {
    const client = await clientWith(await authentication());
    const refusal = await client.login(browser('hugo'), LOGIN).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ status: 401, error: 'invalid_client' });
  });
});
