import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { entry, group, secret, virtualServer, yaml, type Manifest } from '../../harness/manifests.ts';
import type { Surroundings } from './surroundings.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Settings that differ between the scenarios. */
export interface Variant {
  /** Issuer behind a proxy; the address of the gateway by default. */
  readonly issuer?: string;
  /** Path of the issuer, such as `/tenant`; none by default. */
  readonly path?: string;
  /** Path of the MCP endpoint; `/mcp` by default. */
  readonly mcpPath?: string;
  /** Host of the authorization endpoint; that of the issuer by default. */
  readonly browserHost?: string;
  /** Member `kvstore` of the storage; memory by default. */
  readonly kvstore?: Fields;
  /** The first signs, the others verify. Ephemeral keys by default. */
  readonly keys?: Keys | readonly Keys[];
  /** Further keys of the Secret `keys`. */
  readonly secrets?: Readonly<Record<string, string>>;
  /** Further members of `authServerConfig`. */
  readonly authServer?: Fields;
  /** `sessionStorage` of the VirtualMCPServer. */
  readonly sessionStorage?: Fields;
  /** Cedar policies; without them users may call everything. */
  readonly policies?: readonly string[];
  /** Members of `spec.config.operational`. */
  readonly operational?: Fields;
  /** Members of `spec.config.audit`. */
  readonly audit?: Fields;
}

/** Signing key in PEM, and HMAC secret. */
export interface Keys {
  readonly name: string;
  readonly signing: string;
  readonly hmac: string;
}

export function newKeys(): Keys {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return {
    name: `key-${randomBytes(4).toString('hex')}`,
    signing: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    hmac: randomBytes(48).toString('base64url'),
  };
}

const resource = (kind: string, name: string, spec: Fields): Manifest => ({
  apiVersion: 'vmcp.dev/v1alpha1',
  kind,
  metadata: { name },
  spec,
});

/** Returns the providers in the order of the legs: the first gives the identity. */
const providers = ({ corp, corpClient, chat }: Surroundings) => [
  {
    name: 'corp',
    type: 'oidc',
    oidcConfig: {
      issuerUrl: corp.issuer,
      clientId: corpClient.id,
      clientSecretRef: { name: 'corp', key: 'secret' },
      scopes: ['openid', 'offline_access'],
    },
  },
  {
    name: 'chat',
    type: 'oauth2',
    oauth2Config: {
      authorizationEndpoint: chat.authorizationEndpoint,
      tokenEndpoint: chat.tokenEndpoint,
      clientId: chat.clientId,
      clientSecretRef: { name: 'chat', key: 'secret' },
      scopes: ['chat:read'],
      userInfo: { endpointUrl: chat.userInfoEndpoint, fieldMapping: { subjectFields: ['id'], nameFields: ['name'] } },
      tokenResponseMapping: {
        accessTokenPath: 'authed_user.access_token',
        refreshTokenPath: 'authed_user.refresh_token',
        expiresInPath: 'authed_user.expires_in',
        scopePath: 'authed_user.scope',
      },
    },
  },
];

const exchangeAt = ({ tokenUrl, clientId }: Surroundings['exchanger']) => ({
  type: 'tokenExchange',
  tokenExchange: { tokenUrl, clientId, clientSecretRef: { name: 'exchanger', key: 'secret' }, audience: 'vault' },
});

/** Returns references to the Secret `keys`, in which each key has its own name. */
const keyRefs = (keys: readonly Keys[]) => ({
  signingKeySecretRefs: keys.map((one) => ({ name: 'keys', key: `${one.name}.pem` })),
  hmacSecretRefs: keys.map((one) => ({ name: 'keys', key: `${one.name}.hmac` })),
});

const keySecrets = (keys: readonly Keys[]): Record<string, string> =>
  Object.fromEntries(
    keys.flatMap(({ name, signing, hmac }) => [
      [`${name}.pem`, signing],
      [`${name}.hmac`, hmac],
    ]),
  );

export const mcpUrlOf = (issuer: string, { mcpPath = '/mcp' }: Variant = {}): string => new URL(mcpPath, issuer).href;

function browserAddress(issuer: string, browserHost: string | undefined): Fields {
  if (browserHost === undefined) return {};
  return { authorizationEndpointBaseUrl: issuer.replace(new URL(issuer).hostname, browserHost) };
}

/** Returns the files of a server with two providers and three backends with a credential each. */
export function manifestsOf(issuer: string, around: Surroundings, variant: Variant = {}): string {
  const { kvstore, sessionStorage, keys = [], secrets, authServer = {}, operational = {}, audit, policies } = variant;
  const keyList = 'signing' in keys ? [keys] : keys;
  const { corpClient, chat, exchanger, backends } = around;
  const inject = (providerName: string) => ({ type: 'upstreamInject', upstreamInject: { providerName } });
  const backend = (name: keyof typeof backends): Manifest =>
    entry(name, backends[name].url, 'streamable-http', { externalAuthConfigRef: { name: `for-${name}` } });
  return yaml(
    group(),
    resource('MCPOIDCConfig', 'own', { type: 'inline', inline: { issuer } }),
    virtualServer(
      { operational, ...(audit && { audit }) },
      {
        incomingAuth: {
          ...{ type: 'oidc', oidcConfigRef: { name: 'own' }, audience: mcpUrlOf(issuer, variant), clockSkewSeconds: 0 },
          ...(policies && { authzConfig: { type: 'inline', inline: { policies } } }),
        },
        authServerConfig: {
          issuer,
          ...browserAddress(issuer, variant.browserHost),
          upstreamProviders: providers(around),
          ...(keyList.length > 0 && keyRefs(keyList)),
          ...(kvstore && { storage: { type: 'kvstore', kvstore } }),
          ...authServer,
        },
        ...(sessionStorage && { sessionStorage }),
      },
    ),
    resource('MCPExternalAuthConfig', 'for-files', inject('corp')),
    resource('MCPExternalAuthConfig', 'for-posts', inject('chat')),
    resource('MCPExternalAuthConfig', 'for-vault', exchangeAt(exchanger)),
    ...(['files', 'posts', 'vault'] as const).map(backend),
    secret('corp', { secret: corpClient.secret }),
    secret('chat', { secret: chat.clientSecret }),
    secret('exchanger', { secret: exchanger.clientSecret }),
    secret('keys', { ...keySecrets(keyList), ...secrets }),
  );
}
