import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair } from 'jose';
import { Provider, errors, type Configuration } from 'oidc-provider';
import type { Scope } from '../../../../e2e/harness/scope.ts';

/** `oidc-provider` with registration of clients, on a port of its own. */
export interface AuthorizationServer {
  readonly issuer: string;
  readonly provider: Provider;
  /** Method and path of each request, with the grant type of token requests. */
  readonly seen: string[];
  /** Answers before the provider does; undefined lets it answer. */
  intercept: ((req: IncomingMessage, res: ServerResponse) => boolean) | undefined;
  /** Returns true for a valid access token of this audience. */
  accepts(token: string, audience: string): Promise<boolean>;
}

const WEEK = 604_800;

async function configuration(change: Omit<Configuration, 'features'>): Promise<Configuration> {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  return {
    jwks: { keys: [{ ...(await exportJWK(privateKey)), kid: 'one', alg: 'RS256', use: 'sig' }] },
    cookies: { keys: ['only for tests'] },
    responseTypes: ['code'],
    findAccount: (_ctx, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
    issueRefreshToken: (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    rotateRefreshToken: true,
    scopes: ['openid', 'offline_access', 'mcp:use'],
    pkce: { required: () => true },
    ttl: { AccessToken: 3_600, Grant: WEEK, IdToken: WEEK, Interaction: WEEK, RefreshToken: WEEK, Session: WEEK },
    features: {
      devInteractions: { enabled: true },
      registration: { enabled: true },
      registrationManagement: { enabled: true, rotateRegistrationAccessToken: true },
      revocation: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_ctx, resource) => {
          if (URL.parse(resource)?.hostname !== '127.0.0.1') throw new errors.InvalidTarget();
          return { audience: resource, scope: 'mcp:use', accessTokenFormat: 'opaque' };
        },
        useGrantedResource: () => true,
      },
    },
    ...change,
  };
}

export async function startAuthorizationServer(
  scope: Scope,
  change: Omit<Configuration, 'features'> = {},
): Promise<AuthorizationServer> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  scope.defer(() => {
    server.close();
    server.closeAllConnections();
  });
  const issuer = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  const provider = new Provider(issuer, await configuration(change));
  const own: AuthorizationServer = {
    ...{ issuer, provider, seen: [], intercept: undefined },
    accepts: async (token, audience) => (await provider.AccessToken.find(token))?.aud === audience,
  };
  provider.on('grant.success', ({ oidc }) => void own.seen.push(`grant ${String(oidc.params?.['grant_type'])}`));
  const handle = provider.callback();
  server.on('request', (req, res) => {
    own.seen.push(`${req.method ?? ''} ${new URL(req.url ?? '', issuer).pathname}`);
    if (own.intercept?.(req, res) !== true) void handle(req, res);
  });
  return own;
}
