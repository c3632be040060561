import { entry, group, secret, virtualServer, type Manifest } from '../harness/manifests.ts';
import type { Playground } from './playground.ts';
import { headerAuth, httpServer, oidcBy, oidcConfig, REMOTE } from './resources.ts';

type Step = (here: Playground) => Promise<unknown>;
type Verdict = readonly [status: 'True' | 'False' | 'Unknown', reason: string];

/** A condition that is right, becomes wrong by one change, and right again by another. */
export interface ConditionCase {
  readonly on: readonly [kind: string, name: string];
  readonly type: string;
  readonly given: readonly Manifest[];
  readonly right: Verdict;
  readonly breaks: Step;
  readonly wrong: Verdict;
  /** What the message must name. */
  readonly names: string;
  readonly heals: Step;
  /** Where it is not as at the beginning. */
  readonly healed?: Verdict;
  /** The credential of a backend goes with it, and the pods are replaced. */
  readonly rolls?: true;
}

const VMCP = ['VirtualMCPServer', 'tools'] as const;
const SERVER = ['MCPServer', 'web'] as const;
const ENTRY = ['MCPServerEntry', 'remote'] as const;
/** Well formed, and refused in a cluster: an address of the pod itself. */
const LOOPBACK = 'https://127.0.0.1/token';

const patch =
  (kind: string, name: string, change: unknown): Step =>
  (here) =>
    here.patch(kind, name, change);
const spec =
  ([kind, name]: readonly [string, string], change: unknown): Step =>
  (here) =>
    here.patch(kind, name, { spec: change });
const create =
  (...manifests: readonly Manifest[]): Step =>
  (here) =>
    here.create(...manifests);
const remove =
  (kind: string, name: string): Step =>
  (here) =>
    here.remove(kind, name);

const tools = (fields: Readonly<Record<string, unknown>> = {}): Manifest[] => [
  group(),
  virtualServer({}, { name: 'tools', ...fields }),
];
const remote = (fields: Readonly<Record<string, unknown>> = {}): Manifest =>
  entry('remote', REMOTE, 'streamable-http', fields);
const by = (name: string) => ({ externalAuthConfigRef: { name } });
const keyed = (): Manifest[] => [secret('key', { value: 'x' }), headerAuth('auth', 'key')];
const exchange = (tokenUrl: string) => ({ tokenExchange: { tokenUrl } });
const exchangeConfig = (): Manifest => ({
  apiVersion: 'vmcp.dev/v1alpha1',
  kind: 'MCPExternalAuthConfig',
  metadata: { name: 'auth' },
  spec: { type: 'tokenExchange', ...exchange('https://sts.example.com/token') },
});

const login = (): Manifest[] => [
  secret('client', { secret: 'x' }),
  oidcConfig('login', { clientId: 'gateway', clientSecretRef: { name: 'client', key: 'secret' } }),
  ...tools(oidcBy('login')),
];

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

/** A server with an authorization server of its own; `fields` are of `authServerConfig`. */
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
const authServer = (change: unknown): Step => spec(VMCP, { authServerConfig: change });

const OF_VIRTUAL_SERVERS: readonly ConditionCase[] = [
  {
    on: VMCP,
    type: 'Valid',
    given: tools(),
    right: ['True', 'ValidationSucceeded'],
    breaks: spec(VMCP, { config: { codeMode: { enabled: true } } }),
    wrong: ['False', 'ValidationFailed'],
    names: 'spec.config.codeMode',
    heals: spec(VMCP, { config: null }),
  },
  {
    on: VMCP,
    type: 'GroupRefValidated',
    given: tools(),
    right: ['True', 'GroupRefValid'],
    breaks: spec(VMCP, { groupRef: { name: 'later' } }),
    wrong: ['False', 'GroupRefNotFound'],
    names: 'spec.groupRef.name',
    heals: create(group('later')),
  },
  {
    on: VMCP,
    type: 'GroupRefValidated',
    given: [...tools(), group('other')],
    right: ['True', 'GroupRefValid'],
    breaks: remove('MCPGroup', 'fixtures'),
    wrong: ['False', 'GroupRefNotReady'],
    names: 'spec.groupRef.name',
    heals: spec(VMCP, { groupRef: { name: 'other' } }),
  },
  {
    on: VMCP,
    type: 'OIDCConfigRefValidated',
    given: login(),
    right: ['True', 'OIDCConfigRefValid'],
    breaks: spec(VMCP, { incomingAuth: { oidcConfigRef: { name: 'later' } } }),
    wrong: ['False', 'OIDCConfigRefNotFound'],
    names: 'spec.incomingAuth.oidcConfigRef.name',
    heals: create(oidcConfig('later')),
  },
  {
    on: VMCP,
    type: 'OIDCConfigRefValidated',
    given: login(),
    right: ['True', 'OIDCConfigRefValid'],
    breaks: patch('MCPOIDCConfig', 'login', { spec: { inline: { jwksUrl: LOOPBACK } } }),
    wrong: ['False', 'OIDCConfigRefNotValid'],
    names: 'spec.inline.jwksUrl',
    heals: patch('MCPOIDCConfig', 'login', { spec: { inline: { jwksUrl: null } } }),
  },
  {
    on: VMCP,
    type: 'AuthConfigured',
    given: login(),
    right: ['True', 'AuthValid'],
    breaks: remove('Secret', 'client'),
    wrong: ['False', 'AuthInvalid'],
    names: '"client"',
    heals: create(secret('client', { secret: 'y' })),
  },
  {
    on: VMCP,
    type: 'AuthConfigured',
    given: login(),
    right: ['True', 'AuthValid'],
    breaks: patch('Secret', 'client', { data: { secret: null, other: 'eA==' } }),
    wrong: ['False', 'AuthInvalid'],
    names: '"secret"',
    heals: patch('Secret', 'client', { data: { secret: 'eA==' } }),
  },
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
    type: 'IdentitySynthesized',
    given: withAuthServer(),
    right: ['False', 'AllUpstreamsHaveUserInfo'],
    breaks: authServer({ upstreamProviders: [{ name: 'git', type: 'oauth2', oauth2Config: GIT }] }),
    wrong: ['True', 'OAuth2UpstreamWithoutUserInfo'],
    names: 'git',
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
  {
    on: VMCP,
    type: 'ResourceURLUnset',
    given: tools({
      incomingAuth: {
        type: 'oidc',
        oidcConfig: {
          type: 'inline',
          resourceUrl: 'https://mcp.example.com/mcp',
          inline: { issuer: 'https://login.example.com', audience: 'vmcp' },
        },
      },
    }),
    right: ['False', 'ResourceURLSet'],
    breaks: spec(VMCP, { incomingAuth: { oidcConfig: { resourceUrl: null } } }),
    wrong: ['True', 'ServiceNameUsed'],
    names: 'resourceUrl',
    heals: spec(VMCP, { incomingAuth: { oidcConfig: { resourceUrl: 'https://mcp.example.com/mcp' } } }),
  },
  {
    on: VMCP,
    type: 'SessionStorageWarning',
    given: tools({ replicas: 1 }),
    right: ['False', 'SessionStorageWarningNotApplicable'],
    breaks: spec(VMCP, { replicas: 2 }),
    wrong: ['True', 'SessionStorageMissingForReplicas'],
    names: 'replicas',
    heals: spec(VMCP, { replicas: 1 }),
  },
  {
    on: VMCP,
    type: 'PodTemplateSpecValid',
    given: tools({ podTemplateSpec: { spec: { nodeSelector: { disk: 'ssd' } } } }),
    right: ['True', 'PodTemplateSpecValid'],
    breaks: spec(VMCP, { podTemplateSpec: { spec: { containers: 'none' } } }),
    wrong: ['False', 'InvalidPodTemplateSpec'],
    names: 'spec.podTemplateSpec',
    heals: spec(VMCP, { podTemplateSpec: { spec: { containers: null } } }),
  },
  {
    on: VMCP,
    type: 'DefaultAuthConfig',
    rolls: true,
    given: [
      ...keyed(),
      remote(),
      ...tools({ outgoingAuth: { default: { type: 'externalAuthConfigRef', ...by('auth') } } }),
    ],
    right: ['True', 'ConversionSucceeded'],
    breaks: spec(VMCP, { outgoingAuth: { default: by('later') } }),
    wrong: ['False', 'ConversionFailed'],
    names: 'spec.outgoingAuth.default',
    heals: create(headerAuth('later', 'key')),
  },
  {
    on: VMCP,
    type: 'BackendAuthConfig-remote',
    given: [
      exchangeConfig(),
      remote(),
      ...tools({ outgoingAuth: { backends: { remote: { type: 'externalAuthConfigRef', ...by('auth') } } } }),
    ],
    right: ['True', 'ConversionSucceeded'],
    breaks: patch('MCPExternalAuthConfig', 'auth', { spec: exchange(LOOPBACK) }),
    wrong: ['False', 'InvalidConfig'],
    names: 'spec.tokenExchange.tokenUrl',
    heals: patch('MCPExternalAuthConfig', 'auth', { spec: exchange('https://sts.example.com/token') }),
  },
  {
    on: VMCP,
    type: 'DiscoveredAuthConfig-remote',
    rolls: true,
    given: [...keyed(), remote(by('auth')), ...tools()],
    right: ['True', 'ConversionSucceeded'],
    breaks: remove('Secret', 'key'),
    wrong: ['False', 'InvalidConfig'],
    names: '"key"',
    heals: create(secret('key', { value: 'y' })),
  },
  {
    on: VMCP,
    type: 'BackendsDiscovered',
    rolls: true,
    given: [...keyed(), remote(by('auth')), ...tools()],
    right: ['True', 'BackendsDiscoveredSuccessfully'],
    breaks: patch(...ENTRY, { spec: by('later') }),
    wrong: ['False', 'BackendDiscoveryFailed'],
    names: 'spec.externalAuthConfigRef.name',
    heals: create(headerAuth('later', 'key')),
  },
  {
    on: VMCP,
    type: 'BackendsDiscovered',
    given: [remote(), ...tools()],
    right: ['True', 'BackendsDiscoveredSuccessfully'],
    breaks: create(httpServer('remote')),
    wrong: ['False', 'BackendNameConflict'],
    names: 'remote',
    heals: remove('MCPServer', 'remote'),
  },
];

const OF_SERVERS: readonly ConditionCase[] = [
  {
    on: SERVER,
    type: 'Valid',
    given: [group(), httpServer('web')],
    right: ['True', 'ValidationSucceeded'],
    breaks: spec(SERVER, { toolConfigRef: { name: 'rules' } }),
    wrong: ['False', 'ValidationFailed'],
    names: 'spec.toolConfigRef',
    heals: spec(SERVER, { toolConfigRef: null }),
  },
  {
    on: SERVER,
    type: 'GroupRefValidated',
    given: [group(), httpServer('web')],
    right: ['True', 'GroupRefIsValid'],
    breaks: spec(SERVER, { groupRef: { name: 'later' } }),
    wrong: ['False', 'GroupRefNotFound'],
    names: 'spec.groupRef.name',
    heals: create(group('later')),
  },
  {
    on: SERVER,
    type: 'PodTemplateValid',
    given: [group(), httpServer('web', { podTemplateSpec: { spec: { nodeSelector: { disk: 'ssd' } } } })],
    right: ['True', 'ValidPodTemplateSpec'],
    breaks: spec(SERVER, { podTemplateSpec: { spec: { containers: [{ image: 'x' }] } } }),
    wrong: ['False', 'InvalidPodTemplateSpec'],
    names: 'spec.podTemplateSpec',
    heals: spec(SERVER, { podTemplateSpec: { spec: { containers: null } } }),
  },
  {
    on: SERVER,
    type: 'ExternalAuthConfigValidated',
    given: [group(), ...keyed(), httpServer('web', by('auth'))],
    right: ['True', 'ValidationSucceeded'],
    breaks: spec(SERVER, by('later')),
    wrong: ['False', 'ExternalAuthConfigRefNotFound'],
    names: 'spec.externalAuthConfigRef.name',
    heals: create(headerAuth('later', 'key')),
  },
  {
    on: SERVER,
    type: 'ExternalAuthConfigValidated',
    given: [group(), exchangeConfig(), httpServer('web', by('auth'))],
    right: ['True', 'ValidationSucceeded'],
    breaks: patch('MCPExternalAuthConfig', 'auth', { spec: exchange(LOOPBACK) }),
    wrong: ['False', 'InvalidConfig'],
    names: 'spec.tokenExchange.tokenUrl',
    heals: patch('MCPExternalAuthConfig', 'auth', { spec: exchange('https://sts.example.com/token') }),
  },
  {
    on: SERVER,
    type: 'SessionStorageWarning',
    given: [group(), httpServer('web')],
    right: ['False', 'SessionStorageWarningNotApplicable'],
    breaks: spec(SERVER, { replicas: 2 }),
    wrong: ['True', 'SessionStorageMissingForReplicas'],
    names: 'replicas',
    heals: spec(SERVER, { replicas: 1 }),
  },
];

const configMap = (name: string, certificate: string) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  data: { 'ca.crt': certificate },
});

const ofEntries = (certificate: string): readonly ConditionCase[] => [
  {
    on: ENTRY,
    type: 'Valid',
    given: [group(), remote()],
    right: ['True', 'ConfigValid'],
    breaks: spec(ENTRY, { remoteUrl: LOOPBACK }),
    wrong: ['False', 'ConfigInvalid'],
    names: 'spec.remoteUrl',
    heals: spec(ENTRY, { remoteUrl: REMOTE }),
  },
  {
    on: ENTRY,
    type: 'RemoteURLValidated',
    given: [group(), remote()],
    right: ['True', 'RemoteURLValid'],
    breaks: spec(ENTRY, { remoteUrl: LOOPBACK }),
    wrong: ['False', 'RemoteURLInvalid'],
    names: 'spec.remoteUrl',
    heals: spec(ENTRY, { remoteUrl: REMOTE }),
  },
  {
    on: ENTRY,
    type: 'GroupRefValidated',
    given: [group(), remote()],
    right: ['True', 'GroupRefIsValid'],
    breaks: spec(ENTRY, { groupRef: { name: 'later' } }),
    wrong: ['False', 'GroupRefNotFound'],
    names: 'spec.groupRef.name',
    heals: create(group('later')),
  },
  {
    on: ENTRY,
    type: 'ExternalAuthConfigValidated',
    given: [group(), ...keyed(), remote(by('auth'))],
    right: ['True', 'AuthConfigValid'],
    breaks: spec(ENTRY, by('later')),
    wrong: ['False', 'AuthConfigNotFound'],
    names: 'spec.externalAuthConfigRef.name',
    heals: create(headerAuth('later', 'key')),
  },
  {
    on: ENTRY,
    type: 'ExternalAuthConfigValidated',
    given: [group(), exchangeConfig(), remote(by('auth'))],
    right: ['True', 'AuthConfigValid'],
    breaks: patch('MCPExternalAuthConfig', 'auth', { spec: exchange(LOOPBACK) }),
    wrong: ['False', 'AuthConfigInvalid'],
    names: 'spec.tokenExchange.tokenUrl',
    heals: spec(ENTRY, { externalAuthConfigRef: null }),
    healed: ['True', 'AuthConfigNotConfigured'],
  },
  {
    on: ENTRY,
    type: 'CABundleRefValidated',
    given: [
      group(),
      configMap('ca', certificate),
      remote({ caBundleRef: { configMapRef: { name: 'ca', key: 'ca.crt' } } }),
    ],
    right: ['True', 'CABundleRefValid'],
    breaks: remove('ConfigMap', 'ca'),
    wrong: ['False', 'CABundleRefNotFound'],
    names: '"ca"',
    heals: create(configMap('ca', certificate)),
  },
  {
    on: ENTRY,
    type: 'CABundleRefValidated',
    given: [
      group(),
      configMap('ca', certificate),
      remote({ caBundleRef: { configMapRef: { name: 'ca', key: 'ca.crt' } } }),
    ],
    right: ['True', 'CABundleRefValid'],
    breaks: patch('ConfigMap', 'ca', { data: { 'ca.crt': 'not a certificate' } }),
    wrong: ['False', 'CABundleRefInvalid'],
    names: 'spec.caBundleRef',
    heals: patch('ConfigMap', 'ca', { data: { 'ca.crt': certificate } }),
  },
  {
    on: ENTRY,
    type: 'HeaderSecretRefsValidated',
    given: [
      group(),
      secret('header', { value: 'x' }),
      remote({
        headerForward: {
          addHeadersFromSecret: [{ headerName: 'X-Api-Key', valueSecretRef: { name: 'header', key: 'value' } }],
        },
      }),
    ],
    right: ['True', 'HeaderSecretsValid'],
    breaks: remove('Secret', 'header'),
    wrong: ['False', 'HeaderSecretNotFound'],
    names: '"header"',
    heals: create(secret('header', { value: 'y' })),
  },
];

const OF_CONFIGS: readonly ConditionCase[] = [
  {
    on: ['MCPOIDCConfig', 'login'],
    type: 'Valid',
    given: [oidcConfig('login')],
    right: ['True', 'ConfigValid'],
    breaks: patch('MCPOIDCConfig', 'login', { spec: { inline: { jwksUrl: LOOPBACK } } }),
    wrong: ['False', 'ConfigInvalid'],
    names: 'spec.inline.jwksUrl',
    heals: patch('MCPOIDCConfig', 'login', { spec: { inline: { jwksUrl: null } } }),
  },
  {
    on: ['MCPExternalAuthConfig', 'auth'],
    type: 'Valid',
    given: [exchangeConfig()],
    right: ['True', 'ValidationSucceeded'],
    breaks: patch('MCPExternalAuthConfig', 'auth', { spec: exchange(LOOPBACK) }),
    wrong: ['False', 'InvalidConfig'],
    names: 'spec.tokenExchange.tokenUrl',
    heals: patch('MCPExternalAuthConfig', 'auth', { spec: exchange('https://sts.example.com/token') }),
  },
];

/** One for each condition and reason that a change of resources brings about. `certificate` is any one, PEM. */
export const conditionCases = (certificate: string): readonly ConditionCase[] => [
  ...OF_VIRTUAL_SERVERS,
  ...OF_SERVERS,
  ...ofEntries(certificate),
  ...OF_CONFIGS,
];
