import { decodeJwt } from 'jose';
import type * as oauth from 'oauth4webapi';
import { expect, it } from 'vitest';
import { VMCP } from '../../../../gateway/contract/testdata/vmcp-config.ts';
import { ScriptedBrowser } from '../../../harness/browser/scripted-browser.ts';
import { freePort } from '../../../harness/free-port.ts';
import { startIdentityProvider } from '../../../harness/identity-provider.ts';
import { testScope, type Scope } from '../../../harness/scope.ts';
import { startGateway } from '../../../harness/vmcp.ts';
import { openBearerSession } from '../../bearer-session.ts';
import { OAuthClient } from '../oauth-client.ts';

/** Starts oidc-provider, and a gateway that is not registered there. */
async function unregisteredGateway(scope: Scope) {
  const idp = await startIdentityProvider(scope);
  const port = await freePort();
  const issuer = `http://127.0.0.1:${String(port)}`;
  const config = {
    ...{ schema_version: 'v0.1.0', name: 'tools' },
    oidc_config: { issuer, audience: `${issuer}/mcp`, resourceURL: `${issuer}/mcp` },
    vmcp: { ...VMCP, incoming: { type: 'oidc' } },
    embedded_auth_server_config: {
      issuer,
      upstreams: [
        {
          ...{ name: 'notes', type: 'oauth2' },
          oauth2_config: {
            ...{
              authorization_endpoint: `${idp.issuer}/auth`,
              token_endpoint: `${idp.issuer}/token`,
              scopes: ['openid'],
            },
            dcr_config: { discovery_url: `${idp.issuer}/.well-known/openid-configuration`, software_id: 'vmcp' },
          },
        },
      ],
    },
  };
  return { idp, issuer, gateway: await startGateway(scope, JSON.stringify(config), { port }) };
}

const logIn = async (issuer: string): Promise<oauth.TokenEndpointResponse> => {
  const client = await OAuthClient.register(issuer);
  return client.login(new ScriptedBrowser({ user: 'ann', clients: ['http://127.0.0.1:33418/'] }));
};

it('a gateway registers at oidc-provider when the first user logs in, and once', async () => {
  const { issuer, gateway } = await unregisteredGateway(testScope());
  const registrations = () => gateway.output().match(/the gateway is registered at the provider/gu)?.length ?? 0;
  expect(registrations()).toBe(0);
  const tokens = await logIn(issuer);
  expect(decodeJwt(tokens.access_token).aud).toBe(gateway.url);
  expect((await openBearerSession(gateway.url, tokens.access_token)).id).not.toBe('');
  await logIn(issuer);
  expect(registrations()).toBe(1);
});

it('a gateway without its provider is ready, and a login gets the usual error', async () => {
  const { idp, issuer, gateway } = await unregisteredGateway(testScope());
  await idp.kill();
  expect((await fetch(`${gateway.origin}/readyz`)).status).toBe(200);
  const refused = await logIn(issuer).catch((error: unknown) => error);
  expect(refused).toMatchObject({ error: 'temporarily_unavailable' });
});
