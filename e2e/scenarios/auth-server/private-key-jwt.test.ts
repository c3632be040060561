import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { decodeJwt, exportJWK, generateKeyPair, type CryptoKey, type GenerateKeyPairResult, type JWK } from 'jose';
import * as oauth from 'oauth4webapi';
import { beforeAll, describe, expect, it } from 'vitest';
import { GATEWAY_CLIENT, startIdentityProvider } from '../../../examples/identity-provider/provider.ts';
import { ScriptedBrowser } from '../../harness/browser/scripted-browser.ts';
import { rpcReply, type RawResponse } from '../../harness/clients/raw.ts';
import { freePort } from '../../harness/free-port.ts';
import { entry, group, resource, secret, virtualServer, yaml } from '../../harness/manifests.ts';
import { blockScope, testScope, type Scope } from '../../harness/scope.ts';
import { startVmcp } from '../../harness/vmcp.ts';
import { openBearerSession } from '../bearer-session.ts';
import { startCredentialBackend } from '../credential-backend.ts';
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
});

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

const ownKeys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const PEM = ownKeys.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
const CLIENT = { clientId: GATEWAY_CLIENT.id, privateKeyJwt: { privateKeyRef: { name: 'client', key: 'key.pem' } } };

/** Starts `oidc-provider`, whose client of the gateway has no secret. */
async function startProvider(scope: Scope, opaque: boolean) {
  const clientKeys = [ownKeys.publicKey.export({ format: 'jwk' }) as JWK];
  const options = { port: 0, accessTokenSeconds: 600, log: () => undefined };
  const provider = await startIdentityProvider({ ...options, opaque, clientKeys });
  scope.defer(() => provider.close());
  return provider;
}

/** Returns what the backend saw of the credential. */
function whoamiOf(answer: RawResponse): unknown {
  const { result, text } = rpcReply(answer);
  const [content] = (result?.['content'] ?? []) as { text?: string }[];
  return content?.text === undefined ? `HTTP ${String(answer.status)} ${text}` : JSON.parse(content.text);
}

describe('the gateway as a client with a key at oidc-provider', () => {
  it('opaque tokens are introspected and exchanged with a private key', async () => {
    const own = testScope();
    const [provider, orders] = await Promise.all([startProvider(own, true), startCredentialBackend(own, 'orders')]);
    const { issuer } = provider;
    const inline = { issuer, audience: 'http://127.0.0.1:4483/mcp', ...CLIENT };
    const tokenExchange = { tokenUrl: `${issuer}/token`, ...CLIENT, audience: 'orders' };
    const files = yaml(
      group(),
      virtualServer({}, { incomingAuth: { type: 'oidc', oidcConfig: { type: 'inline', inline } } }),
      entry('orders', orders.url, 'streamable-http', { externalAuthConfigRef: { name: 'orders' } }),
      resource('MCPExternalAuthConfig', 'orders', { type: 'tokenExchange', tokenExchange }),
      secret('client', { 'key.pem': PEM }),
    );
    const vmcp = await startVmcp(own, { files: { 'gateway.yaml': files } });
    const token = (await (await fetch(`${issuer}/dev/token/ann`)).text()).trim();
    const session = await openBearerSession(vmcp.url, token);
    expect(whoamiOf(await session.call('orders_whoami'))).toEqual({ sub: 'ann', aud: 'orders' });
    expect(vmcp.output()).not.toContain('PRIVATE KEY');
  });

  it('users log in at an upstream provider at which the gateway has a private key', async () => {
    const own = testScope();
    const [provider, files, port] = await Promise.all([
      startProvider(own, false),
      startCredentialBackend(own, 'files'),
      freePort(),
    ]);
    const issuer = `http://127.0.0.1:${String(port)}`;
    const oidcConfig = { issuerUrl: provider.issuer, ...CLIENT, scopes: ['openid'] };
    const manifests = yaml(
      group(),
      resource('MCPOIDCConfig', 'own', { type: 'inline', inline: { issuer } }),
      virtualServer(
        {},
        {
          incomingAuth: { type: 'oidc', oidcConfigRef: { name: 'own' }, audience: `${issuer}/mcp` },
          authServerConfig: { issuer, upstreamProviders: [{ name: 'corp', type: 'oidc', oidcConfig }] },
        },
      ),
      entry('files', files.url, 'streamable-http', { externalAuthConfigRef: { name: 'files' } }),
      resource('MCPExternalAuthConfig', 'files', { type: 'upstreamInject', upstreamInject: { providerName: 'corp' } }),
      secret('client', { 'key.pem': PEM }),
    );
    const vmcp = await startVmcp(own, { files: { 'gateway.yaml': manifests }, port });
    const client = await OAuthClient.register(issuer);
    const atGateway = new ScriptedBrowser({ user: 'ann', clients: ['http://127.0.0.1:33418/'] });
    const tokens = await client.login(atGateway, { scope: 'openid', resource: vmcp.url });
    const session = await openBearerSession(vmcp.url, tokens.access_token);
    expect(whoamiOf(await session.call('files_whoami'))).toMatchObject({ sub: 'ann' });
  });
});
