import { secret, type Manifest } from '../../harness/manifests.ts';
import { patch, spec, tools, VMCP, type ConditionCase, type Step } from './condition-case.ts';
import { oidcBy, oidcConfig } from '../resources.ts';

const PROVIDER = {
  name: 'corp',
  type: 'oidc',
  oidcConfig: { issuerUrl: 'https://login.example.com', clientId: 'vmcp' },
};
const GIT = {
  authorizationEndpoint: 'https://git.example.com/authorize',
  tokenEndpoint: 'https://git.example.com/token',
  clientId: 'vmcp',
};
const KVSTORE = { type: 'kvstore', kvstore: { addr: 'store:6379' } };
const KEYS = {
  signingKeySecretRefs: [{ name: 'keys', key: 'current.pem' }],
  hmacSecretRefs: [{ name: 'keys', key: 'hmac' }],
};

/** Returns a server with an embedded authorization server; `fields` are fields of `authServerConfig`. */
const withAuthServer = (fields: Readonly<Record<string, unknown>> = {}, more = {}): Manifest[] => [
  secret('keys', { 'current.pem': 'x', hmac: 'x' }),
  oidcConfig('login', { issuer: 'https://auth.example.com' }),
  ...tools({
    ...oidcBy('login'),
    authServerConfig: {
      issuer: 'https://auth.example.com',
      upstreamProviders: [PROVIDER],
      storage: KVSTORE,
      ...KEYS,
      ...fields,
    },
    ...more,
  }),
];
const behindProxy = (trustedProxies: readonly string[]) => ({
  incomingAuth: { ...(oidcBy('login')['incomingAuth'] as object), trustedProxies },
});
const authServer = (change: unknown): Step => spec(VMCP, { authServerConfig: change });

export const OF_AUTH_SERVERS: readonly ConditionCase[] = [
  {
    on: VMCP,
    type: 'AuthServerConfigValidated',
    given: withAuthServer({ storage: { type: 'memory' } }),
    right: ['True', 'AuthServerConfigValid'],
    breaks: spec(VMCP, { replicas: 2 }),
    wrong: ['False', 'AuthServerConfigInvalid'],
    names: 'spec.replicas',
    heals: spec(VMCP, { replicas: 1 }),
  },
  {
    on: VMCP,
    type: 'AuthServerConfigValidated',
    given: withAuthServer(),
    right: ['True', 'AuthServerConfigValid'],
    breaks: patch('MCPOIDCConfig', 'login', { spec: { inline: { issuer: 'https://other.example.com' } } }),
    wrong: ['False', 'AuthServerConfigInvalid'],
    names: 'https://other.example.com',
    heals: patch('MCPOIDCConfig', 'login', { spec: { inline: { issuer: 'https://auth.example.com' } } }),
  },
  {
    on: VMCP,
    type: 'SigningKeysEphemeral',
    given: withAuthServer(),
    right: ['False', 'KeysConfigured'],
    breaks: authServer({ signingKeySecretRefs: null }),
    wrong: ['True', 'KeysMadeAtStart'],
    names: 'signingKeySecretRefs',
    heals: authServer(KEYS),
  },
  {
    on: VMCP,
    type: 'UpstreamStorageInMemory',
    given: withAuthServer(),
    right: ['False', 'StorageConfigured'],
    breaks: authServer({ storage: { type: 'memory', kvstore: null } }),
    wrong: ['True', 'StorageInMemory'],
    names: 'spec.authServerConfig.storage',
    heals: authServer({ storage: KVSTORE }),
  },
  {
    on: VMCP,
    type: 'TrustedProxiesUnset',
    given: withAuthServer({}, behindProxy(['10.0.0.0/8'])),
    right: ['False', 'TrustedProxiesSet'],
    breaks: spec(VMCP, { incomingAuth: { trustedProxies: null } }),
    wrong: ['True', 'ClientAddressesUnknown'],
    names: 'the Ingress',
    heals: spec(VMCP, behindProxy(['10.0.0.0/8'])),
  },
  {
    on: VMCP,
    type: 'IdentitySynthesized',
    given: withAuthServer(),
    right: ['False', 'AllUpstreamsHaveUserInfo'],
    breaks: authServer({ upstreamProviders: [{ name: 'git', type: 'oauth2', oauth2Config: GIT }] }),
    wrong: ['True', 'OAuth2UpstreamWithoutUserInfo'],
    names: 'upstreamProviders[0]',
    heals: authServer({
      upstreamProviders: [
        {
          name: 'git',
          type: 'oauth2',
          oauth2Config: { ...GIT, userInfo: { endpointUrl: 'https://git.example.com/user' } },
        },
      ],
    }),
  },
];
