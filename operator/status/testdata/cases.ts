import type { KubeObject } from '../../../gateway/kube/resource.ts';
import { live, replacing, waiting, workload, type Case } from './world.ts';

const group = live('MCPGroup', 'tools');
const goingGroup = live('MCPGroup', 'tools', {}, { metadata: { deletionTimestamp: '2026-11-22T04:00:00Z' } });
const brokenGroup = live('MCPGroup', 'tools', { unknown: true });
const remote = (name: string, spec: object = {}): KubeObject =>
  live('MCPServerEntry', name, {
    remoteUrl: 'https://mcp.example.com/mcp',
    transport: 'streamable-http',
    groupRef: { name: 'tools' },
    ...spec,
  });
const auth = (name: string, key = 'present'): KubeObject =>
  live('MCPExternalAuthConfig', name, {
    type: 'headerInjection',
    headerInjection: { headerName: 'X-Api-Key', valueSecretRef: { name: 'keys', key } },
  });
const refusedAuth = (name: string): KubeObject => live('MCPExternalAuthConfig', name, { type: 'headerInjection' });
const inject = live('MCPExternalAuthConfig', 'inject', { type: 'upstreamInject', upstreamInject: { providerName: 'corp' } });
const oidc = (spec: object = {}): KubeObject =>
  live('MCPOIDCConfig', 'own', { type: 'inline', inline: { issuer: 'https://desk.example.com', ...spec } });
const keys = { keys: ['present'] };

const vmcp = (spec: object = {}, status?: object): KubeObject =>
  live(
    'VirtualMCPServer',
    'desk',
    { groupRef: { name: 'tools' }, incomingAuth: { type: 'anonymous' }, ...spec },
    status ? { status } : {},
  );
const OWN_TOKENS = { type: 'oidc', audience: 'https://desk.example.com/mcp', oidcConfigRef: { name: 'own' } } as const;
const behindProxy = { incomingAuth: { ...OWN_TOKENS, trustedProxies: ['10.0.0.0/8'] } };
const OPEN = 'permit(principal, action, resource);';
const policies = (...texts: string[]): KubeObject =>
  live('MCPAuthzConfig', 'rules', { type: 'cedarv1', config: { policies: texts } });
const inline = (...texts: string[]): object => ({ authzConfig: { type: 'inline', inline: { policies: texts } } });
const inConfigMap = { authzConfig: { type: 'configMap', configMap: { name: 'policies', key: 'authz.yaml' } } };
const sharedPolicies = { authzConfigRef: { name: 'rules' } };
const policyDocument = (...texts: string[]): string =>
  JSON.stringify({ type: 'cedarv1', version: '1.0', cedar: { policies: texts } });
const withPolicies = (access: object): KubeObject => vmcp({ incomingAuth: { ...OWN_TOKENS, ...access } });
const withOidc = (spec: object = {}): KubeObject =>
  vmcp({ incomingAuth: OWN_TOKENS, ...spec });
const withAuthServer = (config: object = {}, spec: object = {}): KubeObject =>
  withOidc({
    authServerConfig: {
      issuer: 'https://desk.example.com',
      upstreamProviders: [{ name: 'corp', type: 'oidc', oidcConfig: { issuerUrl: 'https://idp.example.com', clientId: 'desk' } }],
      ...config,
    },
    ...spec,
  });
const oauthOnly = {
  upstreamProviders: [
    {
      name: 'corp',
      type: 'oauth2',
      oauth2Config: { authorizationEndpoint: 'https://idp.example.com/a', tokenEndpoint: 'https://idp.example.com/t', clientId: 'desk' },
    },
  ],
};
const kept = {
  signingKeySecretRefs: [{ name: 'keys', key: 'present' }],
  hmacSecretRefs: [{ name: 'keys', key: 'present' }],
  storage: { type: 'kvstore', kvstore: { addr: 'redis.example.com:6379' } },
};
const CLASH = { a: { name: 'b' }, b: { description: 'Keeps its name.' } };
const toolRules = (toolsOverride: object = {}, more: object = {}): KubeObject =>
  live('MCPToolConfig', 'rules', { toolsFilter: ['search'], toolsOverride }, more);
const rejectedRules = live('MCPToolConfig', 'rules', { toolsFilter: 'search' });
const files = live('MCPServer', 'files', { image: 'a', transport: 'streamable-http', groupRef: { name: 'tools' } });
const withTools = (name: string): KubeObject =>
  vmcp({ config: { aggregation: { tools: [{ workload: 'files', toolConfigRef: { name } }] } } });
const reported = (...backends: readonly (readonly [string, string])[]): object => ({
  discoveredBackends: backends.map(([name, status]) => ({ name, status })),
});
const up = { workload: workload(1), problems: [] };
const two = [group, remote('one'), remote('two')];
/** `outgoingAuth` that accepts members by name. */
const accepting = (...names: readonly string[]): { backends: object } => ({
  backends: Object.fromEntries(names.map((name) => [name, { type: 'discovered' }])),
});
const failMode = { config: { operational: { failureHandling: { partialFailureMode: 'fail' } } } };
const problem = (kind: string, name: string, reason: string, path: string) => ({
  kind,
  namespace: 'team',
  name,
  reason,
  path,
  message: 'it is wrong: correct it',
});

/** A server whose route has two parents, and its HTTPRoute with the verdicts on them. */
const routed = vmcp({ route: { parentRefs: [{ name: 'public', namespace: 'gateways', sectionName: 'https' }, { name: 'private' }] } });
const verdict = (parentRef: object, status: string, more: object = {}): object => ({
  parentRef: { group: 'gateway.networking.k8s.io', kind: 'Gateway', ...parentRef },
  controllerName: 'example.com/gateway',
  conditions: [
    { type: 'Accepted', status, reason: status === 'True' ? 'Accepted' : 'NotAllowedByListeners', message: 'see the listeners', observedGeneration: 2, ...more },
    { type: 'ResolvedRefs', status: 'True', reason: 'ResolvedRefs', message: '', observedGeneration: 2 },
  ],
});
const PUBLIC = { name: 'public', namespace: 'gateways', sectionName: 'https' };
const withRoute = (...parents: readonly object[]): Pick<Case, 'objects' | 'servesRoutes' | 'observed'> => ({
  objects: [routed, ...two],
  servesRoutes: true,
  observed: { ...up, route: { apiVersion: 'gateway.networking.k8s.io/v1', kind: 'HTTPRoute', metadata: { name: 'vmcp-desk', namespace: 'team', generation: 2 }, status: { parents } } },
});

export const VMCP_CASES: Readonly<Record<string, Case>> = {
  serving: { objects: [vmcp({}, reported(['one', 'ready'], ['two', 'unauthenticated'])), ...two], observed: up },
  'not reported': { objects: [vmcp(), ...two], observed: up },
  'route without the Gateway API': { objects: [routed, ...two], observed: up },
  'route without a verdict': { objects: [routed, ...two], servesRoutes: true, observed: up },
  'route that one Gateway accepts': withRoute(verdict(PUBLIC, 'True')),
  'route that both Gateways accept': withRoute(verdict(PUBLIC, 'True'), verdict({ name: 'private', namespace: 'team' }, 'True')),
  'route that a Gateway rejects': withRoute(verdict(PUBLIC, 'False'), verdict({ name: 'private' }, 'True')),
  'route with the verdict on an earlier spec': withRoute(verdict(PUBLIC, 'False', { observedGeneration: 1 }), verdict({ name: 'private' }, 'True')),
  empty: { objects: [vmcp(), group], observed: up },
  'one of two healthy': { objects: [vmcp({}, reported(['one', 'ready'], ['two', 'unavailable'])), ...two], observed: up },
  'one degraded': { objects: [vmcp({}, reported(['one', 'degraded'], ['two', 'ready'])), ...two], observed: up },
  'one of two healthy, partial failure fatal': {
    objects: [vmcp(failMode, reported(['one', 'ready'], ['two', 'unavailable'])), ...two],
    observed: up,
  },
  'none healthy': { objects: [vmcp({}, reported(['one', 'unavailable'], ['two', 'unavailable'])), ...two], observed: up },
  'none probed': { objects: [vmcp({}, reported(['one', 'unknown'], ['two', 'unknown'])), ...two], observed: up },
  'new': { objects: [vmcp(), ...two] },
  'no ready pods yet': { objects: [vmcp(), ...two], observed: { workload: workload(0), problems: [] } },
  'scaled to 0': { objects: [vmcp({ replicas: 0 }), ...two], observed: { workload: workload(0, 0), problems: [] } },
  'failing pods': {
    objects: [vmcp(), ...two],
    observed: { workload: workload(0), pods: [waiting('vmcp', 'ImagePullBackOff')], problems: [] },
  },
  'deadline exceeded': {
    objects: [vmcp(), ...two],
    observed: {
      workload: workload(0, 1, [
        { type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded', message: 'it takes too long' },
      ]),
      problems: [],
    },
  },
  'pods of an earlier spec': { objects: [vmcp(), ...two], observed: { workload: replacing(workload(1)), problems: [] } },
  'scaled to 0 with ending pods': {
    objects: [vmcp({ replicas: 0 }), ...two],
    observed: { workload: workload(1, 0), problems: [] },
  },
  'scaled to 0 beside a problem': { objects: [vmcp({ replicas: 0 })], observed: { workload: workload(0, 0), problems: [] } },
  'rejected': { objects: [vmcp({ unknown: true }), ...two], observed: up },
  'rejected before the first deployment': { objects: [vmcp({ unknown: true }), ...two] },
  'missing group': { objects: [vmcp()] },
  'group being deleted': { objects: [vmcp(), goingGroup] , observed: up },
  'rejected group': { objects: [vmcp(), brokenGroup] },
  'not built': { objects: [vmcp({ config: { codeMode: { enabled: true } } }), ...two], observed: up },
  'name in use': {
    objects: [vmcp(), ...two],
    observed: { problems: [problem('VirtualMCPServer', 'desk', 'NameTaken', '')] },
  },
  'patched pods': { objects: [vmcp({ podTemplateSpec: { spec: { nodeSelector: { a: 'b' } } } }), ...two], observed: up },
  'invalid pod patch': {
    objects: [vmcp({ podTemplateSpec: { spec: { containers: {} } } }), ...two],
    observed: {
      ...up,
      problems: [problem('VirtualMCPServer', 'desk', 'InvalidPodTemplateSpec', 'spec.podTemplateSpec.spec.containers')],
    },
  },
  'patched pods beside another problem': {
    objects: [vmcp({ podTemplateSpec: { spec: { nodeSelector: { a: 'b' } } } })],
    observed: up,
  },
  'invalid pod patch beside another problem': {
    objects: [vmcp({ podTemplateSpec: { spec: { containers: {} } } })],
    observed: up,
  },
  'missing OIDC config': { objects: [withOidc(), ...two] },
  'OIDC config': { objects: [withOidc(), oidc(), ...two], observed: up },
  'OIDC config without its Secret': {
    objects: [withOidc(), oidc({ clientId: 'desk', clientSecretRef: { name: 'keys', key: 'absent' } }), ...two],
    secrets: keys,
  },
  'rejected OIDC config': { objects: [withOidc(), live('MCPOIDCConfig', 'own', { type: 'inline' }), ...two] },
  'policies': { objects: [withPolicies(inline(OPEN)), oidc(), ...two], observed: up },
  'policies with a mistake': { objects: [withPolicies(inline(OPEN, 'permit(')), oidc(), ...two] },
  'policies with an unknown action': {
    objects: [withPolicies(inline('permit(principal, action == Action::"tools/call", resource);')), oidc(), ...two],
    observed: up,
  },
  'policies of a ConfigMap': {
    objects: [withPolicies(inConfigMap), oidc(), ...two],
    configMaps: { policies: { 'authz.yaml': policyDocument(OPEN) } },
    observed: up,
  },
  'policies of a missing ConfigMap': { objects: [withPolicies(inConfigMap), oidc(), ...two] },
  'policies of a ConfigMap with a mistake': {
    objects: [withPolicies(inConfigMap), oidc(), ...two],
    configMaps: { policies: { 'authz.yaml': policyDocument('permit(') } },
  },
  'shared policies': { objects: [withPolicies(sharedPolicies), policies(OPEN), oidc(), ...two], observed: up },
  'missing shared policies': { objects: [withPolicies(sharedPolicies), oidc(), ...two] },
  'shared policies with a mistake': { objects: [withPolicies(sharedPolicies), policies('permit('), oidc(), ...two] },
  'rejected shared policies': { objects: [withPolicies(sharedPolicies), policies(), oidc(), ...two] },
  'shared tool rules': { objects: [withTools('rules'), toolRules(), group, files], observed: up },
  'missing shared tool rules': { objects: [withTools('later'), toolRules(), group, files], observed: up },
  'rejected shared tool rules': { objects: [withTools('rules'), rejectedRules, group, files], observed: up },
  'shared tool rules with a mistake': {
    objects: [withTools('rules'), toolRules(CLASH), group, files],
    observed: up,
  },
  'authorization server': { objects: [withAuthServer(kept, behindProxy), oidc(), ...two], secrets: keys, observed: up },
  'authorization server with storage in memory': { objects: [withAuthServer(), oidc(), ...two], observed: up },
  'authorization server without user identities': { objects: [withAuthServer(oauthOnly), oidc(), ...two], observed: up },
  'authorization server with another issuer': {
    objects: [withAuthServer({ issuer: 'https://other.example.com' }), oidc(), ...two],
  },
  'authorization server of two pods': { objects: [withAuthServer({}, { replicas: 2 }), oidc(), ...two] },
  'authorization server of two pods with sessions in memory': {
    objects: [withAuthServer(kept, { ...behindProxy, replicas: 2, sessionStorage: { provider: 'memory' } }), oidc(), ...two],
    secrets: keys,
  },
  'authorization server without its key': {
    objects: [withAuthServer({ signingKeySecretRefs: [{ name: 'absent', key: 'k' }] }), oidc(), ...two],
  },
  'authorization server that an autoscaler has scaled': {
    objects: [withAuthServer(), oidc(), group],
    observed: { ...up, scaledBack: true },
  },
  'three pods by an autoscaler': { objects: [vmcp(), ...two], observed: { workload: workload(3, 3), problems: [] } },
  'no public URL': {
    objects: [
      vmcp({ incomingAuth: { type: 'oidc', oidcConfig: { type: 'inline', inline: { issuer: 'https://idp.example.com', audience: 'desk' } } } }),
      ...two,
    ],
    observed: up,
  },
  'two pods': { objects: [vmcp({ replicas: 2 }), ...two], observed: { workload: workload(2, 2), problems: [] } },
  'two pods and a store': {
    objects: [vmcp({ replicas: 2, sessionStorage: { provider: 'kvstore', address: 'redis:6379' } }), ...two],
    observed: up,
  },
  'entry without a backend': { objects: [vmcp({ outgoingAuth: { backends: { nobody: { type: 'discovered' } } } }), ...two], observed: up },
  'invalid member': { objects: [vmcp(), group, remote('one'), remote('two', { remoteUrl: 'https://127.0.0.1/' })], observed: up },
  'only invalid members': { objects: [vmcp(), group, remote('two', { remoteUrl: 'https://127.0.0.1/' })], observed: up },
  'two members with one name': {
    objects: [vmcp(), group, remote('one'), live('MCPServer', 'one', { image: 'a', groupRef: { name: 'tools' } })],
    observed: up,
  },
  'credentials of backends': {
    objects: [
      vmcp({ outgoingAuth: accepting('fine', 'keyless', 'refused', 'absent', 'nobody') }),
      group,
      remote('fine', { externalAuthConfigRef: { name: 'fine' } }),
      remote('keyless', { externalAuthConfigRef: { name: 'keyless' } }),
      remote('refused', { externalAuthConfigRef: { name: 'refused' } }),
      remote('absent', { externalAuthConfigRef: { name: 'absent' } }),
      remote('nobody', { externalAuthConfigRef: { name: 'inject' } }),
      auth('fine'),
      auth('keyless', 'absent'),
      refusedAuth('refused'),
      inject,
    ],
    secrets: keys,
    observed: up,
  },
  'credentials of a list': {
    objects: [
      vmcp({
        outgoingAuth: {
          source: 'inline',
          backendList: ['fine', 'absent'].map((name) => ({
            name,
            type: 'externalAuthConfigRef',
            externalAuthConfigRef: { name },
          })),
        },
      }),
      group,
      remote('fine'),
      remote('absent'),
      auth('fine'),
    ],
    secrets: keys,
    observed: up,
  },
  'credentials of entries': {
    objects: [
      vmcp({
        outgoingAuth: {
          source: 'inline',
          backends: Object.fromEntries(
            ['fine', 'keyless', 'refused', 'absent'].map((name) => [
              name,
              { type: 'externalAuthConfigRef', externalAuthConfigRef: { name } },
            ]),
          ),
        },
      }),
      group,
      ...['fine', 'keyless', 'refused', 'open'].map((name) => remote(name)),
      auth('fine'),
      auth('keyless', 'absent'),
      refusedAuth('refused'),
    ],
    secrets: keys,
    observed: up,
  },
  ...Object.fromEntries(
    ['fine', 'keyless', 'refused', 'absent'].map((name): [string, Case] => [
      `${name} default credential`,
      {
        objects: [
          vmcp({
            outgoingAuth: {
              ...accepting('one', 'two'),
              default: { type: 'externalAuthConfigRef', externalAuthConfigRef: { name } },
            },
          }),
          ...two,
          auth('fine'),
          auth('keyless', 'absent'),
          refusedAuth('refused'),
        ],
        secrets: keys,
        observed: up,
      },
    ]),
  ),
  'credentials withheld': {
    objects: [
      vmcp({ outgoingAuth: { default: { type: 'externalAuthConfigRef', externalAuthConfigRef: { name: 'fine' } } } }),
      group,
      remote('own', { externalAuthConfigRef: { name: 'fine' } }),
      remote('unnamed'),
      remote('loot', {
        externalAuthConfigRef: { name: 'nothing' },
        headerForward: {
          addHeadersFromSecret: [{ headerName: 'X-Key', valueSecretRef: { name: 'keys', key: 'present' } }],
        },
      }),
      auth('fine'),
      live('MCPExternalAuthConfig', 'nothing', { type: 'unauthenticated' }),
    ],
    secrets: keys,
    observed: up,
  },
  'runtime problems': {
    objects: [
      vmcp(
        { outgoingAuth: accepting('one') },
        {
          runtimeProblems: [
            { reason: 'CredentialMisconfigured', path: 'vmcp.outgoing_auth.one', message: 'no credential can be made' },
            { reason: 'ToolsNotPortable', message: 'clients with models of OpenAI may be refused: 2 tools' },
          ],
        },
      ),
      group,
      remote('one', { externalAuthConfigRef: { name: 'fine' } }),
      auth('fine'),
    ],
    secrets: keys,
    observed: up,
  },
};

const server = (spec: object = {}, rest: object = {}): KubeObject =>
  live('MCPServer', 'files', { image: 'ghcr.io/example/files:1', transport: 'streamable-http', ...spec }, rest);
const member = { groupRef: { name: 'tools' } };
const toolRef = { toolConfigRef: { name: 'rules' } };
const authRef = { externalAuthConfigRef: { name: 'config' } };

const bucket = { maxTokens: 10, refillPeriod: '1m' };
/** Every control of a single server. */
const controlled = {
  replicas: 1,
  audit: { enabled: true },
  oidcConfigRef: { name: 'own', audience: 'https://files.example.com/mcp' },
  authzConfigRef: { name: 'rules' },
  rateLimiting: { perUser: bucket },
  telemetryConfigRef: { name: 'otel' },
  webhookConfigRef: { name: 'review' },
};
/** An embedded authorization server for `authServerRef`. */
const logins = (server: object = {}): KubeObject =>
  live('MCPExternalAuthConfig', 'logins', {
    type: 'embeddedAuthServer',
    embeddedAuthServer: {
      issuer: 'https://desk.example.com',
      upstreamProviders: [{ name: 'corp', type: 'oidc', oidcConfig: { issuerUrl: 'https://idp.example.com', clientId: 'desk' } }],
      ...server,
    },
  });
const withLogins = {
  replicas: 1,
  oidcConfigRef: { name: 'own', audience: 'https://desk.example.com/mcp' },
  authServerRef: { name: 'logins' },
};
const controlConfigs = ({ issuer = 'https://idp.example.com', url = 'https://otel.example.com', policy = OPEN } = {}): KubeObject[] => [
  oidc({ issuer }),
  policies(policy),
  live('MCPTelemetryConfig', 'otel', { openTelemetry: { endpoint: url } }),
  live('MCPWebhookConfig', 'review', { validating: [{ name: 'review', url }] }),
];

export const SERVER_CASES: Readonly<Record<string, Case>> = {
  serving: { objects: [server(member), group], observed: up },
  new: { objects: [server()] },
  'no ready pods yet': { objects: [server()], observed: { workload: workload(0), problems: [] } },
  'unschedulable pod': {
    objects: [server()],
    observed: {
      workload: workload(0),
      pods: [{ ...waiting('mcp', 'x'), status: { conditions: [{ type: 'PodScheduled', status: 'False', message: 'no node' }] } }],
      problems: [],
    },
  },
  'failing pods': {
    objects: [server()],
    observed: { workload: workload(0), pods: [waiting('mcp', 'CrashLoopBackOff')], problems: [] },
  },
  'image name that no registry can have': {
    objects: [server()],
    observed: { workload: replacing(workload(1)), pods: [waiting('mcp', 'InvalidImageName', 'no such form')], problems: [] },
  },
  'name of another owner': {
    objects: [server()],
    observed: { problems: [problem('MCPServer', 'files', 'NameTaken', '')] },
  },
  'one of two pods': {
    objects: [server({ replicas: 2 })],
    observed: { workload: workload(1, 2), pods: [waiting('mcp', 'ErrImagePull')], problems: [] },
  },
  'two pods by backendReplicas': {
    objects: [server({ backendReplicas: 2 })],
    observed: { workload: workload(2, 2), problems: [] },
  },
  'scaled to 0': { objects: [server({ replicas: 0 })], observed: { workload: workload(0, 0), problems: [] } },
  'being deleted': { objects: [server({}, { metadata: { deletionTimestamp: '2026-11-22T04:00:00Z' } })], observed: up },
  'rejected': { objects: [server({ unknown: true })] },
  'local image': { objects: [server({ image: 'npx://a' })] },
  'missing group': { objects: [server(member)], observed: up },
  'group being deleted': { objects: [server(member), goingGroup], observed: up },
  'rejected group': { objects: [server(member), brokenGroup], observed: up },
  'shared tool rules': { objects: [server(toolRef), toolRules()], observed: up },
  'missing shared tool rules': { objects: [server(toolRef)], observed: up },
  'rejected shared tool rules': { objects: [server(toolRef), rejectedRules], observed: up },
  'shared tool rules with a mistake': { objects: [server(toolRef), toolRules(CLASH)], observed: up },
  'credential': { objects: [server(authRef), auth('config')], secrets: keys, observed: up },
  'credential without its key': { objects: [server(authRef), auth('config', 'absent')], secrets: keys, observed: up },
  'rejected credential': { objects: [server(authRef), refusedAuth('config')], observed: up },
  'missing credential': { objects: [server(authRef)], observed: up },
  'credential on stdio': { objects: [server({ ...authRef, transport: 'stdio' }), auth('config')], secrets: keys, observed: up },
  stdio: { objects: [server({ transport: 'stdio' })], observed: up },
  'stdio of two pods': { objects: [server({ transport: 'stdio', replicas: 2 })], observed: up },
  'stdio of two pods by backendReplicas': {
    objects: [server({ transport: 'stdio', backendReplicas: 2 })],
    observed: up,
  },
  'stdio with processes': { objects: [server({ transport: 'stdio', maxProcesses: 2 })], observed: up },
  'patched pods': { objects: [server({ podTemplateSpec: { spec: {} } })], observed: up },
  'invalid pod patch': {
    objects: [server({ podTemplateSpec: { spec: { containers: {} } } })],
    observed: { ...up, problems: [problem('MCPServer', 'files', 'InvalidPodTemplateSpec', 'spec.podTemplateSpec.spec')] },
  },
  'invalid pod patch beside another problem': {
    objects: [server({ isolation: 'session', transport: 'stdio', podTemplateSpec: { spec: { containers: {} } } })],
    observed: up,
  },
  'patched pods beside another problem': {
    objects: [server({ isolation: 'session', transport: 'stdio', podTemplateSpec: { spec: {} } })],
    observed: up,
  },
  'own gateway': { objects: [server(controlled), ...controlConfigs()], observed: up },
  'own gateway without its configs': { objects: [server(controlled)], observed: up },
  'own gateway with configs that have mistakes': {
    objects: [server(controlled), ...controlConfigs({ issuer: 'https://10.0.0.1', url: 'https://10.0.0.1', policy: 'permit(' })],
    observed: up,
  },
  'own gateway of two pods': {
    objects: [server({ ...controlled, rateLimiting: undefined, replicas: 2 }), ...controlConfigs()],
    observed: up,
  },
  'own gateway of two pods with a store': {
    objects: [server({ ...controlled, replicas: 2, sessionStorage: { provider: 'kvstore', address: 'store:6379' } }), ...controlConfigs()],
    observed: up,
  },
  'limits of two pods': { objects: [server({ rateLimiting: { shared: bucket }, replicas: 2 })], observed: up },
  'limits per user without users': {
    objects: [server({ ...authRef, rateLimiting: { perUser: bucket }, replicas: 1 }), auth('config')],
    secrets: keys,
    observed: up,
  },
  'own authorization server': { objects: [server(withLogins), oidc(), logins()], observed: up },
  'own authorization server that an autoscaler has scaled': {
    objects: [server({ ...withLogins, replicas: undefined }), oidc(), logins()],
    observed: { ...up, scaledBack: true },
  },
  'three pods by an autoscaler': { objects: [server()], observed: { workload: workload(3, 3), problems: [] } },
  'own authorization server without its config': { objects: [server(withLogins), oidc()], observed: up },
  'own authorization server of another type': { objects: [server(withLogins), oidc(), auth('logins')], secrets: keys, observed: up },
  'own authorization server with a mistake': { objects: [server(withLogins), oidc(), logins({ issuer: 'https://other.example.com/' })], observed: up },
  'authorization server as a credential': {
    objects: [server({ externalAuthConfigRef: { name: 'logins' } }), logins()],
    observed: up,
  },
  'policies without users': { objects: [server({ authzConfigRef: { name: 'rules' } }), policies(OPEN)], observed: up },
  'permission profile': { objects: [server({ permissionProfile: { name: 'none' } })], observed: up },
  'quota': {
    objects: [server()],
    observed: { workload: workload(0), problems: [problem('MCPServer', 'files', 'QuotaExceeded', '')] },
  },
};

const entry = (spec: object = {}): KubeObject => remote('remote', spec);
const certificate = `-----BEGIN CERTIFICATE-----
MIIBejCCASGgAwIBAgIUHUbWd3ZJ3cYc8m3zG0yFakeFakeFakeFakewCgYIKoZI
-----END CERTIFICATE-----
`;
const bundle = { caBundleRef: { configMapRef: { name: 'bundle', key: 'ca.crt' } } };
const header = { headerForward: { addHeadersFromSecret: [{ headerName: 'X-Key', valueSecretRef: { name: 'keys', key: 'present' } }] } };

export const entryCases = (pem: string): Readonly<Record<string, Case>> => ({
  valid: { objects: [entry(), group] },
  'everything set': {
    objects: [entry({ ...authRef, ...bundle, ...header }), group, auth('config')],
    secrets: keys,
    configMaps: { bundle: { 'ca.crt': pem } },
  },
  'rejected': { objects: [entry({ unknown: true }), group] },
  'missing group': { objects: [entry()] },
  'group being deleted': { objects: [entry(), goingGroup] },
  'rejected group': { objects: [entry(), brokenGroup] },
  'private URL': { objects: [entry({ remoteUrl: 'https://10.0.0.1/mcp' }), group] },
  'missing bundle': { objects: [entry(bundle), group] },
  'invalid bundle': { objects: [entry(bundle), group], configMaps: { bundle: { 'ca.crt': certificate } } },
  'missing Secret': { objects: [entry(header), group] },
  'missing credential': { objects: [entry(authRef), group] },
  'credential without its key': { objects: [entry(authRef), group, auth('config', 'absent')], secrets: keys },
});

const leaving = { metadata: { deletionTimestamp: '2026-11-22T04:00:00Z' } };

export const CONFIG_CASES: Readonly<Record<string, Case>> = {
  'a group': { objects: [group, remote('b'), remote('a'), live('MCPServer', 'c', { image: 'a', ...member }), live('MCPServer', 'd', { imagee: 'a', ...member })] },
  'a rejected group': { objects: [brokenGroup] },
  'a group in use': { objects: [goingGroup], referencedBy: ['VirtualMCPServer/desk'] },
  'an OIDC config': { objects: [oidc()] },
  'an OIDC config of an embedded server': { objects: [oidc({ issuer: 'https://desk.team.svc.cluster.local' }), withAuthServer({ issuer: 'https://desk.team.svc.cluster.local' })] },
  'an OIDC config at a private address': { objects: [oidc({ issuer: 'https://10.0.0.1' })] },
  'a rejected OIDC config': { objects: [live('MCPOIDCConfig', 'own', { type: 'inline' })] },
  'an OIDC config with a warning': { objects: [live('MCPOIDCConfig', 'own', { type: 'kubernetes', kubernetes: { introspectionUrl: 'https://a.example.com' } })] },
  'an OIDC config in use': {
    objects: [live('MCPOIDCConfig', 'own', { type: 'kubernetes' }, leaving)],
    referencedBy: ['VirtualMCPServer/b', 'VirtualMCPServer/a', 'VirtualMCPServer/a'],
  },
  'shared policies': { objects: [policies(OPEN)] },
  'shared policies with a mistake': { objects: [policies(OPEN, 'permit(')] },
  'shared policies with an unknown action': { objects: [policies('permit(principal, action == Action::"x", resource);')] },
  'rejected shared policies': { objects: [policies()] },
  'shared policies in use': {
    objects: [live('MCPAuthzConfig', 'rules', { type: 'cedarv1', config: { policies: [OPEN] } }, leaving)],
    referencedBy: ['VirtualMCPServer/a'],
  },
  'shared tool rules': { objects: [toolRules()] },
  'shared tool rules with a mistake': { objects: [toolRules(CLASH)] },
  'shared tool rules without effect': { objects: [live('MCPToolConfig', 'rules', {})] },
  'shared tool rules in use': { objects: [toolRules({}, leaving)], referencedBy: ['MCPServer/files'] },
  'an auth config': { objects: [auth('config')], secrets: keys },
  'an auth config without its key': { objects: [auth('config', 'absent')], secrets: keys },
  'a rejected auth config': { objects: [refusedAuth('config')] },
  'an auth config in use': {
    objects: [live('MCPExternalAuthConfig', 'config', { type: 'unauthenticated' }, leaving)],
    referencedBy: ['MCPServer/files'],
  },
};
