import { Type } from 'typebox';
import { Closed, HOST_VARIABLE_PATTERN } from '../../gateway/contract/fields.ts';
import {
  ATOMIC,
  block,
  duration,
  flag,
  freeObject,
  mapBy,
  quantity,
  text,
  textMap,
  texts,
  whole,
} from '../../gateway/contract/optional.ts';
import { NameRef, RefName } from '../../gateway/contract/references.ts';
import {
  INSTALL_ENV_TEXT,
  PACKAGE_TEXT,
  packageFields,
  WORKING_DIR_TEXT,
} from '../../gateway/contract/package-options.ts';
import { exactlyOne, rule, type Rule } from '../../gateway/contract/rule.ts';
import { hostHeader } from './fields/header-fields.ts';

const count = { minimum: 0, maximum: 2147483647, format: 'int32' };
const port = { minimum: 1, maximum: 65535, format: 'int32' };
const ENV_NAME = { pattern: '^[-._a-zA-Z][-._a-zA-Z0-9]*$', minLength: 1, maxLength: 253 };
const required = (maxLength: number, description: string) => Type.String({ minLength: 1, maxLength, description });

const quantities = (description: string) =>
  block(description, { cpu: quantity('CPU quantity.'), memory: quantity('Memory quantity.') });

const envName = Type.String({ ...ENV_NAME, description: 'Name.' });
const ENV_VALUE = 'Value. Everyone who can read this object can read it.';
const envList = (description: string) => ({ maxItems: 256, description, ...mapBy('name') });

const env = Type.Optional(
  Type.Array(
    Closed({
      name: envName,
      value: text(ENV_VALUE),
      fromEnv: text('Local mode only: variable of the shell or of the file `.env` that contains the value.', {
        pattern: HOST_VARIABLE_PATTERN,
        maxLength: 253,
      }),
    }),
    envList('Environment variables of the server.'),
  ),
);

const podEnv = Type.Optional(
  Type.Array(
    Closed({ name: envName, value: Type.String({ description: ENV_VALUE }) }),
    envList('Additional environment variables.'),
  ),
);

const secrets = Type.Optional(
  Type.Array(
    Closed({
      name: RefName('Name of the Secret.'),
      key: required(253, 'Key in the Secret.'),
      targetEnvName: text('Name of the environment variable. Defaults to the key.', ENV_NAME),
    }),
    {
      maxItems: 256,
      description: 'Environment variables of the server, with values from Secrets.',
      ...mapBy('name', 'key'),
    },
  ),
);

const volumes = Type.Optional(
  Type.Array(
    Closed({
      name: required(63, 'Name.'),
      hostPath: required(4096, 'Path on the host.'),
      mountPath: required(4096, 'Path in the container.'),
      readOnly: flag('Mount the path read-only.', { default: false }),
    }),
    { maxItems: 64, description: 'Host paths to mount in the container.', ...mapBy('name') },
  ),
);

const metadata = {
  annotations: textMap('Additional annotations.', { maxProperties: 64 }),
  labels: textMap('Additional labels.', { maxProperties: 64 }),
};

const resourceOverrides = block('Additions to the objects that the operator creates.', {
  proxyDeployment: block('Additions to the Deployment or StatefulSet.', {
    ...metadata,
    env: podEnv,
    imagePullSecrets: Type.Optional(
      Type.Array(NameRef('Image pull secret.'), { maxItems: 32, description: 'Image pull secrets.', ...ATOMIC }),
    ),
    podTemplateMetadataOverrides: block('Additions to the metadata of the pods.', metadata),
  }),
  proxyService: block('Additions to the Service.', metadata),
});

const permissionProfile = block(
  'File system and network access of the container in local mode. In a cluster it has no effect: use a NetworkPolicy.',
  {
    type: Type.Optional(
      Type.Enum(['builtin', 'configmap'], { default: 'builtin', description: 'Source of the profile.' }),
    ),
    name: required(253, '`none` or `network` for a built-in profile, otherwise the name of the ConfigMap.'),
    key: text('Key in the ConfigMap.', { minLength: 1, maxLength: 253 }),
  },
);

/** Fields about the pods of the server. */
export const workloadFields = {
  image: required(
    2048,
    'Container image. Local mode also accepts `npx://PACKAGE[@VERSION]`, `uvx://PACKAGE[==VERSION]` and `command://PROGRAM`.',
  ),
  package: block(PACKAGE_TEXT, {
    ...packageFields,
    installEnv: Type.Optional(
      Type.Array(Closed({ name: envName, value: Type.String({ description: ENV_VALUE }) }), {
        ...envList(INSTALL_ENV_TEXT),
        maxItems: 64,
      }),
    ),
  }),
  workingDir: text(WORKING_DIR_TEXT, {
    pattern: '^/',
    maxLength: 4096,
  }),
  transport: Type.Optional(
    Type.Enum(['stdio', 'streamable-http', 'sse'], { default: 'stdio', description: 'Transport of the server.' }),
  ),
  args: texts('Arguments of the server.', { maxItems: 256, ...ATOMIC }),
  env,
  secrets,
  volumes,
  mcpPort: whole('Port that the server listens on. Defaults to 8080.', port),
  hostHeader: hostHeader(),
  proxyPort: whole('Port of the Service.', { default: 8080, ...port }),
  proxyMode: Type.Optional(
    Type.Enum(['streamable-http', 'sse'], {
      default: 'streamable-http',
      description: 'Transport through which a stdio server is exposed.',
    }),
  ),
  endpointPrefix: text(
    'Path in front of `/mcp` in the URL of clients, which a proxy may keep or remove. It has an effect where a gateway is in front of the server: for stdio, and with controls.',
    { pattern: '^(/[A-Za-z0-9._~-]+)*/?$', maxLength: 2048 },
  ),
  trustProxyHeaders: flag('No effect. X-Forwarded-* headers are ignored.', { default: false }),
  maxRequestBodySize: whole('No effect. The limit for request bodies is 8 MiB.', {
    minimum: 0,
    format: 'int64',
  }),
  proxyReadTimeout: duration('No effect. The timeout for reading a request is 30s.', { maxLength: 64 }),
  isolation: Type.Optional(
    Type.Enum(['principal', 'session', 'shared'], {
      description:
        'Isolation of a stdio server: one child process per principal, one per session, or one for all. Defaults to `principal`.',
    }),
  ),
  maxProcesses: whole('Maximum number of child processes of a stdio server. Defaults to 16.', {
    minimum: 1,
    maximum: 1024,
    format: 'int32',
  }),
  replicas: whole(
    'Number of pods. When absent, an autoscaler may set it, or the operator runs one pod where several would not share keys, logins or sessions. A stdio server has one pod.',
    count,
  ),
  backendReplicas: whole('Number of server instances, if it differs from the number of proxies.', count),
  permissionProfile,
  podTemplateSpec: freeObject('Strategic-merge patch of the pod template; the container is named `mcp`.'),
  resources: block(
    'Compute resources of the container. Defaults to requests of 10m CPU and 64Mi of memory without limits; `{}` sets no request.',
    {
      limits: quantities('Upper limits.'),
      requests: quantities('Requests for scheduling.'),
    },
  ),
  resourceOverrides,
  serviceAccount: text('ServiceAccount of the pods.', { minLength: 1, maxLength: 253 }),
  sessionAffinity: Type.Optional(
    Type.Enum(['ClientIP', 'None'], { default: 'ClientIP', description: 'Session affinity of the Service.' }),
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

/** Reason why a cluster rejects `fromEnv`, in the rule of the CRD and in the problem of the operator. */
export const FROM_ENV_IN_CLUSTER =
  'env[].fromEnv works with `vmcp up` only: use a Secret and spec.secrets in a cluster';

/** Reason why a cluster rejects a program of a user's machine, in the rule of the CRD and in the problem of the operator. */
export const COMMAND_IN_CLUSTER =
  'command:// runs a program of this machine, with `vmcp up` only: use a container image in a cluster';

const isPackage = (image: string): boolean => image.startsWith('npx://') || image.startsWith('uvx://');

/** Rules about the forms of `image` that local mode has. */
const localRules: Rule[] = [
  rule<{ readonly image: string }>('', {
    field: 'image',
    rule: "!self.image.startsWith('command://')",
    message: COMMAND_IN_CLUSTER,
    check: (self) => !self.image.startsWith('command://'),
    only: 'cluster',
  }),
  rule<{ readonly image: string; readonly package?: object }>('', {
    field: 'package',
    rule: "!has(self.package) || self.image.startsWith('npx://') || self.image.startsWith('uvx://')",
    message: 'set package only if image is an npx:// or uvx:// package',
    check: (self) => self.package === undefined || isPackage(self.image),
  }),
  rule<{ readonly image: string; readonly package?: { readonly python?: string } }>('', {
    field: 'package.python',
    rule: "!has(self.package) || !has(self.package.python) || self.image.startsWith('uvx://')",
    message: 'set package.python only if image is a uvx:// package',
    check: (self) => self.package?.python === undefined || self.image.startsWith('uvx://'),
  }),
  rule<{ readonly image: string; readonly workingDir?: string }>('', {
    field: 'workingDir',
    rule: "!has(self.workingDir) || self.image.startsWith('command://')",
    message: 'set workingDir only if image is a command:// program',
    check: (self) => self.workingDir === undefined || self.image.startsWith('command://'),
  }),
];

export const workloadRules: Rule[] = [
  ...localRules,
  rule<{ readonly transport: string; readonly hostHeader?: string }>('', {
    field: 'hostHeader',
    rule: "!has(self.hostHeader) || self.transport != 'stdio'",
    message: 'set hostHeader only if transport is streamable-http or sse',
    check: (self) => self.hostHeader === undefined || self.transport !== 'stdio',
  }),
  exactlyOne('env[]', 'value', 'fromEnv'),
  rule<{ readonly fromEnv?: string }>('env[]', {
    field: 'fromEnv',
    rule: '!has(self.fromEnv)',
    message: FROM_ENV_IN_CLUSTER,
    check: (self) => self.fromEnv === undefined,
    only: 'cluster',
  }),
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
