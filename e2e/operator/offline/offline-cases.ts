import { configMap, entry, group, secret, virtualServer, type Manifest } from '../../harness/manifests.ts';
import { headerAuth, httpServer, oidcBy, oidcConfig, REMOTE, stdioServer, telemetryConfig } from '../resources.ts';

/** Files of a repository, and objects that only the cluster has. */
export interface OfflineCase {
  readonly title: string;
  readonly files: readonly Manifest[];
  readonly elsewhere?: readonly Manifest[];
  /** Problems as `Kind/name path`; empty when the cluster takes the files. */
  readonly problems: readonly string[];
  /** True when the API server rejects the object; otherwise a condition has the problem. */
  readonly atAdmission?: true;
  /** Paths of the warnings about objects that are expected elsewhere. */
  readonly expects?: readonly string[];
}

const pod = (podSpec: object, name = 'web'): Manifest => httpServer(name, { podTemplateSpec: { spec: podSpec } });
const gateway = (fields: Readonly<Record<string, unknown>> = {}): Manifest =>
  virtualServer({}, { name: 'tools', ...fields });
const container = (members: object): object => ({ containers: [{ name: 'mcp', ...members }] });
const labelled = (manifest: Manifest, labels: object): Manifest =>
  ({ ...manifest, metadata: { ...manifest.metadata, labels } }) as Manifest;

export const OFFLINE_CASES: readonly OfflineCase[] = [
  {
    title: 'a gateway with its backends',
    files: [group(), httpServer('web'), entry('remote', REMOTE), gateway()],
    problems: [],
  },
  {
    title: 'a package of npm',
    files: [group(), httpServer('web', { image: 'npx://@modelcontextprotocol/server-memory' })],
    problems: ['MCPServer/web spec.image'],
  },
  {
    title: 'a package of PyPI',
    files: [group(), stdioServer('web', { image: 'uvx://mcp-server-time' })],
    problems: ['MCPServer/web spec.image'],
  },
  {
    title: 'a program of a laptop',
    files: [group(), stdioServer('web', { image: 'command://node' })],
    problems: ['MCPServer/web spec.image'],
    atAdmission: true,
  },
  {
    title: 'a variable of a laptop',
    files: [group(), httpServer('web', { env: [{ name: 'TOKEN', fromEnv: 'TOKEN' }] })],
    problems: ['MCPServer/web spec.env[0].fromEnv'],
    atAdmission: true,
  },
  {
    title: 'an isolation that only processes of a laptop have',
    files: [group(), stdioServer('web', { isolation: 'principal' })],
    problems: ['MCPServer/web spec.isolation'],
  },
  {
    title: 'an address of the machine itself',
    files: [group(), entry('remote', 'http://127.0.0.1:9000/mcp')],
    problems: ['MCPServerEntry/remote spec.remoteUrl'],
  },
  {
    title: 'a misspelt field',
    files: [group(), httpServer('web', { replica: 2 })],
    problems: ['MCPServer/web spec.replica'],
    atAdmission: true,
  },
  {
    title: 'a rule of the schema',
    files: [group(), httpServer('web', { isolation: 'shared' })],
    problems: ['MCPServer/web spec.isolation'],
    atAdmission: true,
  },
  {
    title: 'a quantity as a number',
    files: [group(), httpServer('web', { resources: { limits: { cpu: 1, memory: '64Mi' } } })],
    problems: [],
  },
  {
    title: 'a quantity that is none',
    files: [group(), httpServer('web', { resources: { limits: { memory: '64MB' } } })],
    problems: ['MCPServer/web spec.resources.limits.memory'],
    atAdmission: true,
  },
  {
    title: 'a member without a value',
    files: [group(), httpServer('web', { args: null, env: null, resources: null, podTemplateSpec: null })],
    problems: [],
  },
  {
    title: 'a label that Kubernetes rejects',
    files: [labelled(group(), { 'team name': 'a' })],
    problems: ['MCPGroup/fixtures metadata.labels.team name'],
    atAdmission: true,
  },
  {
    title: 'the value of a label that Kubernetes rejects',
    files: [labelled(group(), { team: 'search and ads' })],
    problems: ['MCPGroup/fixtures metadata.labels.team'],
    atAdmission: true,
  },
  {
    title: 'a misspelt field of the pods of a server',
    files: [group(), pod({ nodeSelecter: { disk: 'ssd' } })],
    problems: ['MCPServer/web spec.podTemplateSpec.spec.nodeSelecter'],
  },
  {
    title: 'a misspelt field of a container',
    files: [group(), pod(container({ resources: { limit: { cpu: '1' } } }))],
    problems: ['MCPServer/web spec.podTemplateSpec.spec.containers[0].resources.limit'],
  },
  {
    title: 'a wrong type in the pods of a gateway',
    files: [
      group(),
      entry('remote', REMOTE),
      gateway({ podTemplateSpec: { spec: { terminationGracePeriodSeconds: '60' } } }),
    ],
    problems: ['VirtualMCPServer/tools spec.podTemplateSpec.spec.terminationGracePeriodSeconds'],
  },
  {
    title: 'a value that no pod has',
    files: [group(), pod(container({ imagePullPolicy: 'always' }))],
    problems: ['MCPServer/web spec.podTemplateSpec.spec.containers[0].imagePullPolicy'],
  },
  {
    title: 'an operator that no toleration has',
    files: [group(), pod({ tolerations: [{ key: 'a', operator: 'Equals', value: 'b' }] })],
    problems: ['MCPServer/web spec.podTemplateSpec.spec.tolerations[0].operator'],
  },
  {
    title: 'a removed container',
    files: [group(), pod({ containers: [{ name: 'mcp', $patch: 'delete' }] })],
    problems: ['MCPServer/web spec.podTemplateSpec.spec.containers'],
  },
  {
    title: 'a pod template that fits',
    files: [group(), pod({ ...container({ resources: { limits: { cpu: 1 } } }), nodeSelector: { disk: 'ssd' } })],
    problems: [],
  },
  {
    title: 'a group that does not exist',
    files: [gateway()],
    problems: ['VirtualMCPServer/tools spec.groupRef.name'],
  },
  {
    title: 'a config that does not exist',
    files: [group(), gateway(oidcBy('login'))],
    problems: ['VirtualMCPServer/tools spec.incomingAuth.oidcConfigRef.name'],
  },
  {
    title: 'a credential with a Secret of the cluster',
    files: [
      group(),
      headerAuth('auth', 'key'),
      httpServer('web', { externalAuthConfigRef: { name: 'auth' } }),
      gateway(),
    ],
    elsewhere: [secret('key', { value: 'x' })],
    problems: [],
    expects: ['spec.headerInjection.valueSecretRef.name'],
  },
  {
    title: 'variables from a Secret of the cluster',
    files: [group(), httpServer('web', { secrets: [{ name: 'key', key: 'value', targetEnvName: 'TOKEN' }] })],
    elsewhere: [secret('key', { value: 'x' })],
    problems: [],
    expects: ['spec.secrets[0].name'],
  },
  {
    title: 'a key that the Secret beside it lacks',
    files: [group(), secret('key', { token: 'x' }), headerAuth('auth', 'key')],
    problems: ['MCPExternalAuthConfig/auth spec.headerInjection.valueSecretRef.key'],
  },
  {
    title: 'policies in a ConfigMap of the cluster',
    files: [
      group(),
      entry('remote', REMOTE),
      oidcConfig('login'),
      gateway({
        incomingAuth: {
          ...(oidcBy('login')['incomingAuth'] as object),
          authzConfig: { type: 'configMap', configMap: { name: 'rules' } },
        },
      }),
    ],
    elsewhere: [
      configMap('rules', {
        'authz.json':
          '{"version":"1.0","type":"cedarv1","cedar":{"policies":["permit(principal, action, resource);"]}}',
      }),
    ],
    problems: [],
    expects: ['spec.incomingAuth.authzConfig.configMap.name'],
  },
  {
    title: 'replicas that share nothing',
    files: [group(), entry('remote', REMOTE), gateway({ replicas: 2, sessionStorage: { provider: 'memory' } })],
    problems: [],
  },
  {
    title: 'a field that is not supported yet',
    files: [group(), entry('remote', REMOTE), virtualServer({ codeMode: { enabled: true } }, { name: 'tools' })],
    problems: ['VirtualMCPServer/tools spec.config.codeMode'],
  },
  {
    title: 'an address that needs https',
    files: [oidcConfig('login', { issuer: 'https://10.0.0.1' }), telemetryConfig('otel')],
    problems: ['MCPOIDCConfig/login spec.inline.issuer'],
  },
  {
    title: 'an account of the cluster',
    files: [group(), httpServer('web', { serviceAccount: 'team' })],
    problems: [],
    expects: ['spec.serviceAccount'],
  },
  {
    title: 'a request above its limit',
    files: [group(), httpServer('web', { resources: { limits: { cpu: '1' }, requests: { cpu: 2 } } })],
    problems: ['MCPServer/web spec.resources.requests.cpu'],
  },
  {
    title: 'the name of a volume that Kubernetes rejects',
    files: [group(), httpServer('web', { volumes: [{ name: 'My Data', hostPath: '/a', mountPath: '/b' }] })],
    problems: ['MCPServer/web spec.volumes[0].name'],
  },
  {
    title: 'labels of a Deployment and annotations of a Service that Kubernetes rejects',
    files: [
      group(),
      httpServer('web', {
        resourceOverrides: {
          proxyDeployment: { labels: { 'a b': 'c' }, podTemplateMetadataOverrides: { labels: { a: 'c d' } } },
          proxyService: { annotations: { 'a b': 'c d' } },
        },
      }),
    ],
    problems: [
      'MCPServer/web spec.resourceOverrides.proxyDeployment.labels.a b',
      'MCPServer/web spec.resourceOverrides.proxyDeployment.podTemplateMetadataOverrides.labels.a',
      'MCPServer/web spec.resourceOverrides.proxyService.annotations.a b',
    ],
  },
  {
    title: 'a label of the pods that Kubernetes rejects',
    files: [group(), httpServer('web', { podTemplateSpec: { metadata: { labels: { team: 'b c' } } } })],
    problems: ['MCPServer/web spec.podTemplateSpec.metadata.labels.team'],
  },
  {
    title: 'a container without an image, as after a misspelt name',
    files: [group(), pod({ containers: [{ name: 'mpc', args: ['--verbose'] }] })],
    problems: ['MCPServer/web spec.podTemplateSpec.spec.containers'],
  },
  {
    title: 'a mount without its volume',
    files: [group(), pod(container({ volumeMounts: [{ name: 'data', mountPath: '/data' }] }))],
    problems: ['MCPServer/web spec.podTemplateSpec.spec.containers'],
  },
  {
    title: 'a user that no system has',
    files: [group(), pod({ securityContext: { runAsUser: -1 } })],
    problems: ['MCPServer/web spec.podTemplateSpec.spec.securityContext'],
  },
];
