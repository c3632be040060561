import { Type } from 'typebox';
import { Closed } from '../../gateway/contract/fields.ts';
import {
  ATOMIC,
  block,
  duration,
  flag,
  freeObject,
  mapBy,
  text,
  textMap,
  texts,
  whole,
} from '../../gateway/contract/optional.ts';
import { NameRef, RefName } from '../../gateway/contract/references.ts';
import { rule, type Rule } from '../../gateway/contract/rule.ts';

const count = { minimum: 0, maximum: 2147483647, format: 'int32' };
const port = { minimum: 1, maximum: 65535, format: 'int32' };
const ENV_NAME = { pattern: '^[-._a-zA-Z][-._a-zA-Z0-9]*$', minLength: 1, maxLength: 253 };
const required = (maxLength: number, description: string) => Type.String({ minLength: 1, maxLength, description });

const quantities = (description: string) => {
  const quantity = { pattern: '^[0-9]+([.][0-9]+)?(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$', maxLength: 32 };
  return block(description, { cpu: text('CPU quantity.', quantity), memory: text('Memory quantity.', quantity) });
};

const env = (description: string) =>
  Type.Optional(
    Type.Array(
      Closed({
        name: Type.String({ ...ENV_NAME, description: 'Name.' }),
        value: Type.String({ description: 'Value. It can be read by whoever reads this resource.' }),
      }),
      { maxItems: 256, description, ...mapBy('name') },
    ),
  );

const secrets = Type.Optional(
  Type.Array(
    Closed({
      name: RefName('Name of the Secret.'),
      key: required(253, 'Key in the Secret.'),
      targetEnvName: text('Environment variable; the key when absent.', ENV_NAME),
    }),
    { maxItems: 256, description: 'Environment of the server from Secrets.', ...mapBy('name', 'key') },
  ),
);

const volumes = Type.Optional(
  Type.Array(
    Closed({
      name: required(63, 'Name.'),
      hostPath: required(4096, 'Path on the host.'),
      mountPath: required(4096, 'Path in the container.'),
      readOnly: flag('Mount read-only.', { default: false }),
    }),
    { maxItems: 64, description: 'Host paths in the container.', ...mapBy('name') },
  ),
);

const metadata = {
  annotations: textMap('Further annotations.', { maxProperties: 64 }),
  labels: textMap('Further labels.', { maxProperties: 64 }),
};

const resourceOverrides = block('Additions to the objects that the operator makes.', {
  proxyDeployment: block('The Deployment or StatefulSet.', {
    ...metadata,
    env: env('Further environment.'),
    imagePullSecrets: Type.Optional(
      Type.Array(NameRef('Secret of a registry.'), { maxItems: 32, description: 'Secrets of registries.', ...ATOMIC }),
    ),
    podTemplateMetadataOverrides: block('The pods.', metadata),
  }),
  proxyService: block('The Service.', metadata),
});

const permissionProfile = block('What the server may reach. Ignored in a cluster.', {
  type: Type.Optional(
    Type.Enum(['builtin', 'configmap'], { default: 'builtin', description: 'Where the profile stands.' }),
  ),
  name: required(253, '`none` or `network` when built in, else the name of the ConfigMap.'),
  key: text('Key in the ConfigMap.', { minLength: 1, maxLength: 253 }),
});

/** How the server itself is run. */
export const workloadFields = {
  image: required(2048, 'Container image; on a laptop also `npx://PACKAGE[@VERSION]` or `uvx://PACKAGE[==VERSION]`.'),
  transport: Type.Optional(
    Type.Enum(['stdio', 'streamable-http', 'sse'], { default: 'stdio', description: 'How the server is spoken to.' }),
  ),
  args: texts('Arguments of the server.', { maxItems: 256, ...ATOMIC }),
  env: env('Environment of the server.'),
  secrets,
  volumes,
  mcpPort: whole('Port that the server listens on; 8080 when absent.', port),
  proxyPort: whole('Port of the Service.', { default: 8080, ...port }),
  proxyMode: Type.Optional(
    Type.Enum(['streamable-http', 'sse'], {
      default: 'streamable-http',
      description: 'How a stdio server is exposed.',
    }),
  ),
  endpointPrefix: text('Accepted and without effect: the endpoint event of SSE names a path without a prefix.', {
    maxLength: 2048,
  }),
  trustProxyHeaders: flag('Accepted and without effect: X-Forwarded-* headers change nothing.', { default: false }),
  maxRequestBodySize: whole('In bytes. Accepted and without effect: a request body has at most 8 MiB.', {
    minimum: 0,
    format: 'int64',
  }),
  proxyReadTimeout: duration('Accepted and without effect: a request is read for at most 30s.', { maxLength: 64 }),
  isolation: Type.Optional(
    Type.Enum(['principal', 'session', 'shared'], {
      description: 'stdio: who shares one child process; `principal` when absent.',
    }),
  ),
  maxProcesses: whole('stdio: most child processes at once; 16 when absent.', {
    minimum: 1,
    maximum: 1024,
    format: 'int32',
  }),
  replicas: whole('Pods; absent leaves the number to an autoscaler. stdio has one.', count),
  backendReplicas: whole('Instances of the server, where they are counted apart from the proxy.', count),
  permissionProfile,
  podTemplateSpec: freeObject('Strategic-merge patch of the pod template; the container is named `mcp`.'),
  resources: block('Resources of the container.', {
    limits: quantities('Most that it may use.'),
    requests: quantities('What it is scheduled with.'),
  }),
  resourceOverrides,
  serviceAccount: text('ServiceAccount of the server.', { minLength: 1, maxLength: 253 }),
  sessionAffinity: Type.Optional(
    Type.Enum(['ClientIP', 'None'], { default: 'ClientIP', description: 'Affinity of the Service.' }),
  ),
};

interface Workload {
  readonly transport: string;
  readonly isolation?: string;
  readonly maxProcesses?: number;
}

const stdioOnly = (member: 'isolation' | 'maxProcesses'): Rule =>
  rule<Workload>('', {
    field: member,
    rule: `!has(self.${member}) || self.transport == 'stdio'`,
    message: `set ${member} only if transport is stdio`,
    check: (self) => self[member] === undefined || self.transport === 'stdio',
  });

export const workloadRules: Rule[] = [
  stdioOnly('isolation'),
  stdioOnly('maxProcesses'),
  rule<{ readonly type: string; readonly name: string }>('permissionProfile', {
    field: 'name',
    rule: "self.type != 'builtin' || self.name in ['none', 'network']",
    message: 'the built-in profiles are none and network',
    check: (self) => self.type !== 'builtin' || ['none', 'network'].includes(self.name),
  }),
  rule<{ readonly type: string; readonly key?: string }>('permissionProfile', {
    field: 'key',
    rule: "(self.type == 'configmap') == has(self.key)",
    message: 'set key if and only if type is configmap',
    check: (self) => (self.type === 'configmap') === (self.key !== undefined),
  }),
];
