import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { decodeJwt } from 'jose';
import * as oauth from 'oauth4webapi';
import { beforeAll, describe, expect, it } from 'vitest';
import { ScriptedBrowser } from '../../../harness/browser/scripted-browser.ts';
import { eventually } from '../../../harness/poll.ts';
import { blockScope } from '../../../harness/scope.ts';
import { startAuthServer, type Gateway } from '../gateway.ts';
import { INSECURE, OAuthClient } from '../oauth-client.ts';

const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token';
const SECRET = 'the-secret-of-the-batch-client-01';

const scope = blockScope();
let gateway: Gateway;
let server: oauth.AuthorizationServer;

beforeAll(async () => {
  gateway = await startAuthServer(scope, ({ url, issuer, around }) => ({
    secrets: { batch: SECRET },
    authServer: {
      insecureAllowConfidentialOverLoopbackHTTP: true,
      trustedIssuers: [
        {
          ...{ issuerUrl: around.corp.issuer, expectedAudience: 'vmcp', allowedDelegateClients: ['batch'] },
          jwtBearerGrant: {
            maxAssertionAge: '5m',
            subjectBindings: [{ subject: 'ci', allowedResources: [url] }],
            acceptedAudiences: [issuer],
          },
        },
      ],
      delegateClients: [
        {
          ...{ clientId: 'batch', clientSecretRef: { name: 'keys', key: 'batch' } },
          ...{ audiences: [url], scopes: ['profile', 'email'] },
        },
      ],
    },
  }));
  server = await OAuthClient.discover(gateway.issuer);
});

const login = async (user: string) => {
  const client = await OAuthClient.register(gateway.issuer);
  const browser = new ScriptedBrowser({ user, clients: ['http://127.0.0.1:33418/'] });
  const tokens = await client.login(browser, { scope: 'openid profile offline_access' });
  return { client, tokens };
};

async function exchange(
  parameters: Record<string, string>,
  authentication = oauth.ClientSecretBasic(SECRET),
): Promise<oauth.TokenEndpointResponse> {
  const client = { client_id: 'batch' };
  const reply = await oauth.genericTokenEndpointRequest(server, client, authentication, EXCHANGE, parameters, INSECURE);
  return oauth.processGenericTokenEndpointResponse(server, client, reply);
}

const subject = (token: string) => ({ subject_token: token, subject_token_type: ACCESS_TOKEN });

/** Opens a session of the MCP SDK with a token. */
async function sessionWith(token: string): Promise<Client> {
  const client = new Client({ name: 'batch', version: '1' });
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(gateway.url), { requestInit }));
  scope.defer(() => client.close());
  return client;
}

describe('oauth4webapi as a delegate client', () => {
  it('row 82: exchanges the token of a user and calls a tool for them with the MCP SDK, until the login ends', async () => {
    expect(server.grant_types_supported).toContain(EXCHANGE);
    expect(server.token_endpoint_auth_methods_supported).toContain('client_secret_basic');
    const { client, tokens } = await login('ann');
    const delegated = await exchange(subject(tokens.access_token));
    expect(delegated).toMatchObject({ expires_in: 900, scope: 'profile', issued_token_type: ACCESS_TOKEN });
    expect(delegated.refresh_token).toBeUndefined();
    const { sub } = decodeJwt(tokens.access_token);
    expect(decodeJwt(delegated.access_token)).toMatchObject({ sub, client_id: 'batch', act: { sub: 'batch' } });
    const session = await sessionWith(delegated.access_token);
    const { content } = await session.callTool({ name: 'vault_whoami' });
    expect(JSON.stringify(content)).toContain('vault');
    await client.revoke(tokens.refresh_token ?? '');
    await eventually('the delegated token ends with the login', async () => {
      const { status } = await fetch(gateway.url, { headers: { authorization: `Bearer ${delegated.access_token}` } });
      return status === 401;
    });
    await expect(exchange(subject(tokens.access_token))).rejects.toMatchObject({ error: 'invalid_request' });
  });

  it('gets no upstream token of the user', async () => {
    const { tokens } = await login('bob');
    const delegated = await exchange(subject(tokens.access_token), oauth.ClientSecretPost(SECRET));
    const session = await sessionWith(delegated.access_token);
    await expect(session.callTool({ name: 'files_whoami' })).rejects.toThrow();
    const own = await sessionWith(tokens.access_token);
    expect(JSON.stringify(await own.callTool({ name: 'files_whoami' }))).toContain('bob');
  });
});

describe('oidc-provider as a trusted issuer', () => {
  it('has tokens that the client exchanges for one user per subject', async () => {
    const { corp } = gateway.around;
    const [first, second, other] = await Promise.all(
      ['carl', 'carl', 'dora'].map(async (user) => exchange(subject(await corp.token(user, 'vmcp')))),
    );
    const subjects = [first, second, other].map((reply) => decodeJwt(reply?.access_token ?? '').sub);
    expect(new Set(subjects).size).toBe(2);
    expect(subjects).not.toContain('carl');
    const session = await sessionWith(first?.access_token ?? '');
    expect(JSON.stringify(await session.callTool({ name: 'vault_whoami' }))).toContain(subjects[0]);
    const refused = exchange(subject(await corp.token('carl', 'other')));
    await expect(refused).rejects.toMatchObject({ error: 'invalid_request' });
  });

  it('issues an assertion that works once, without a client', async () => {
    expect(server.grant_types_supported).toContain(JWT_BEARER);
    const assertion = await gateway.around.corp.token('ci', gateway.issuer);
    const anonymous = () => undefined;
    const redeem = async (): Promise<oauth.TokenEndpointResponse> => {
      const client = { client_id: 'unused' };
      const form = { assertion, scope: 'profile' };
      const reply = await oauth.genericTokenEndpointRequest(server, client, anonymous, JWT_BEARER, form, INSECURE);
      return oauth.processGenericTokenEndpointResponse(server, client, reply);
    };
    const tokens = await redeem();
    const { corp } = gateway.around;
    expect(decodeJwt(tokens.access_token)).toMatchObject({ aud: gateway.url, client_id: `${corp.issuer}#ci` });
    expect(JSON.stringify(await (await sessionWith(tokens.access_token)).listTools())).toContain('vault_whoami');
    await expect(redeem()).rejects.toMatchObject({ error: 'invalid_grant' });
  });
});
