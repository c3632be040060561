import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createLocalJWKSet, exportJWK, generateKeyPair, type JWK } from 'jose';
import { Provider, errors, type Configuration, type ResourceServer } from 'oidc-provider';
import { listen } from '../backends/listen.ts';
import { TOKEN_EXCHANGE, TOKEN_EXCHANGE_PARAMETERS, tokenExchange } from './token-exchange.ts';

/** Client of the gateway: it may introspect and exchange tokens, and redirect users here for a login. */
export const GATEWAY_CLIENT = { id: 'vmcp', secret: 'vmcp-development-secret' } as const;

export interface IdentityProviderOptions {
  /** 0 selects a free port. */
  readonly port: number;
  /** Address to listen on, also used in URLs; 127.0.0.1 by default. */
  readonly host?: string;
  /** Redirect URIs of gateways on other hosts. `/oauth/callback` of this machine is always accepted. */
  readonly redirectUris?: readonly string[];
  /** Public keys with which the client of the gateway authenticates (`private_key_jwt`) in place of its secret. */
  readonly clientKeys?: readonly JWK[];
  /** Issues opaque access tokens, so that resource servers must introspect them. */
  readonly opaque: boolean;
  readonly accessTokenSeconds: number;
  /** Logs one line for each event, never a token. */
  readonly log: (line: string) => void;
}

export interface IdentityProvider {
  readonly issuer: string;
  close(): Promise<void>;
}

/** Scope that an MCP server may require. */
const MCP_SCOPE = 'mcp:use';
const DEFAULT_RESOURCE = 'http://127.0.0.1:4483/mcp';
const ON_THIS_MACHINE: ReadonlySet<string> = new Set(['127.0.0.1', '[::1]', 'localhost']);
const HOURS = 3_600;

/** Accepts any login name with any password: this is for development on one machine. */
const account = (id: string) => ({
  accountId: id,
  claims: () => ({
    sub: id,
    name: id,
    email: `${id}@example.com`,
    groups: [id.startsWith('guest') ? 'guests' : 'staff'],
  }),
});

function resourceServer(audience: string, { opaque, accessTokenSeconds }: IdentityProviderOptions): ResourceServer {
  return {
    audience,
    scope: MCP_SCOPE,
    accessTokenTTL: accessTokenSeconds,
    accessTokenFormat: opaque ? 'opaque' : 'jwt',
    ...(!opaque && { jwt: { sign: { alg: 'RS256' as const } } }),
  };
}

const features = (options: IdentityProviderOptions): Configuration['features'] => ({
  clientCredentials: { enabled: true },
  devInteractions: { enabled: true },
  introspection: { enabled: true, allowedPolicy: (_ctx, { clientId }) => clientId === GATEWAY_CLIENT.id },
  registration: { enabled: true },
  resourceIndicators: {
    enabled: true,
    defaultResource: () => DEFAULT_RESOURCE,
    getResourceServerInfo: (_ctx, resource) => {
      const hostname = URL.parse(resource)?.hostname ?? '';
      if (!ON_THIS_MACHINE.has(hostname) && hostname !== options.host) throw new errors.InvalidTarget();
      return resourceServer(resource, options);
    },
    useGrantedResource: () => true,
  },
});

function configuration(key: JWK, options: IdentityProviderOptions): Configuration {
  return {
    jwks: { keys: [key] },
    responseTypes: ['code'],
    cookies: { keys: ['only for development'] },
    clients: [
      {
        client_id: GATEWAY_CLIENT.id,
        ...(options.clientKeys
          ? { token_endpoint_auth_method: 'private_key_jwt' as const, jwks: { keys: [...options.clientKeys] } }
          : { client_secret: GATEWAY_CLIENT.secret }),
        application_type: 'native', // so that the redirect URI may have any port
        grant_types: ['client_credentials', TOKEN_EXCHANGE, 'authorization_code', 'refresh_token'],
        response_types: ['code'],
        redirect_uris: ['http://127.0.0.1/oauth/callback', ...(options.redirectUris ?? [])],
      },
    ],
    clientBasedCORS: () => true,
    findAccount: (_ctx, id) => account(id),
    issueRefreshToken: (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    scopes: ['openid', 'offline_access', MCP_SCOPE],
    claims: { openid: ['sub', 'groups'], profile: ['name'], email: ['email'] },
    pkce: { required: () => true },
    features: features(options),
    ttl: {
      AccessToken: options.accessTokenSeconds,
      ClientCredentials: options.accessTokenSeconds,
      Grant: 8 * HOURS,
      IdToken: HOURS,
      Interaction: HOURS,
      RefreshToken: 8 * HOURS,
      Session: 8 * HOURS,
    },
  };
}

/** Issues a token for `user`, like a login of that user. */
async function tokenFor(provider: Provider, user: string, url: URL, options: IdentityProviderOptions): Promise<string> {
  const client = await provider.Client.find(GATEWAY_CLIENT.id);
  if (client === undefined) throw new Error('the client of the gateway is not registered');
  const audience = url.searchParams.get('audience') ?? DEFAULT_RESOURCE;
  const scope = url.searchParams.get('scope') ?? MCP_SCOPE;
  const grant = new provider.Grant({ accountId: user, clientId: client.clientId });
  grant.addResourceScope(audience, scope);
  const token = new provider.AccessToken({
    accountId: user,
    client,
    grantId: await grant.save(),
    gty: 'development',
    resourceServer: new provider.ResourceServer(audience, resourceServer(audience, options)),
    scope,
  });
  return token.save();
}

/** Answers `GET /dev/token/<user>[?audience=...][&scope=...]` with a token, for use with curl. */
async function developmentToken(
  req: IncomingMessage,
  res: ServerResponse,
  provider: Provider,
  options: IdentityProviderOptions,
): Promise<boolean> {
  const url = new URL(req.url ?? '/', provider.issuer);
  const user = /^\/dev\/token\/([\w.@:-]{1,128})$/u.exec(url.pathname)?.[1];
  if (user === undefined || req.method !== 'GET') return false;
  const token = await tokenFor(provider, user, url, options);
  res.writeHead(200, { 'content-type': 'text/plain', 'cache-control': 'no-store' }).end(`${token}\n`);
  return true;
}

function report(provider: Provider, log: IdentityProviderOptions['log']): void {
  const issued = ({ accountId, aud }: { accountId: string; aud?: string | string[] | undefined }): void => {
    log(`issued a token: sub ${accountId}, aud ${String(aud)}`);
  };
  provider.on('registration_create.success', (_ctx, { clientId, clientName }) => {
    log(`registered the client "${clientName ?? clientId}"`);
  });
  provider.on('access_token.issued', issued);
  provider.on('access_token.saved', issued);
  provider.on('grant.error', (_ctx, error) => {
    log(`refused: ${error.message}`);
  });
  provider.on('server_error', (_ctx, error) => {
    log(`failed: ${error.message}`);
  });
}

/** Starts the provider on `host`, with a new signing key. */
export async function startIdentityProvider(options: IdentityProviderOptions): Promise<IdentityProvider> {
  const { host = '127.0.0.1' } = options;
  const { publicKey, privateKey } = await generateKeyPair('RS256', { extractable: true });
  const server = createServer();
  await listen(server, options.port, host);
  const issuer = `http://${host}:${String((server.address() as AddressInfo).port)}`;
  const names = { kid: randomUUID(), alg: 'RS256', use: 'sig' }; // a new key has a new id, so that verifiers with the old key fetch it
  const provider = new Provider(issuer, configuration({ ...(await exportJWK(privateKey)), ...names }, options));
  const keys = createLocalJWKSet({ keys: [{ ...(await exportJWK(publicKey)), ...names }] });
  provider.registerGrantType(
    TOKEN_EXCHANGE,
    tokenExchange({ keys, log: options.log, seconds: options.accessTokenSeconds }),
    TOKEN_EXCHANGE_PARAMETERS,
  );
  report(provider, options.log);
  const handle = provider.callback();
  server.on('request', (req, res) => {
    developmentToken(req, res, provider, options).then(
      (done) => (done ? undefined : handle(req, res)),
      () => res.writeHead(500).end(),
    );
  });
  return {
    issuer,
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}
