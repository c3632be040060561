import { Type } from 'typebox';
import { Closed, SCOPE_PATTERN } from '../../gateway/contract/fields.ts';
import {
  ATOMIC,
  block,
  flag,
  freeObject,
  mapBy,
  text,
  textMap,
  texts,
  whole,
} from '../../gateway/contract/optional.ts';
import { NameRef, nameRef } from '../../gateway/contract/references.ts';
import { INCOMING } from '../../gateway/incoming/index.ts';
import { authServerConfig } from './fields/auth-server-config.ts';
import { authzFields, telemetryConfigRef } from './fields/authz.ts';
import { exposureFields } from './fields/exposure.ts';
import { headerNames } from './fields/header-fields.ts';
import { variantMembers } from './fields/variants.ts';
import {
  AGE,
  conditionColumn,
  defineKind,
  podFields,
  statusFields,
  workloadName,
  type ObjectOf,
} from './schema/kind.ts';
import { oidcConfig, oidcConfigRef } from './fields/oidc.ts';
import { sessionStorage } from './fields/stores.ts';
import { virtualMCPServerObjectRules, virtualMCPServerRules } from './virtual-mcp-server-rules.ts';
import { vmcpConfig } from './fields/vmcp-config.ts';

const incomingAuth = Closed(
  {
    type: Type.Enum(
      INCOMING.map(({ type }) => type),
      { description: INCOMING.map(({ type, description }) => `\`${type}\`: ${description}`).join(' ') },
    ),
    ...variantMembers(INCOMING),
    oidcConfig: oidcConfig(),
    oidcConfigRef: oidcConfigRef(),
    audience: text(
      'Expected `aud` claim when `oidcConfigRef` is set. If it is a URL, it is also the `resource` of this server.',
      {
        minLength: 1,
        maxLength: 2048,
      },
    ),
    ...authzFields,
    requiredScopes: texts(
      'Scopes that every token must have.',
      { maxItems: 64, ...ATOMIC },
      { pattern: SCOPE_PATTERN, minLength: 1, maxLength: 256 },
    ),
    clockSkewSeconds: whole('Clock tolerance in seconds for `exp`, `nbf` and `iat`. Defaults to 30.', {
      minimum: 0,
      maximum: 300,
      format: 'int32',
    }),
    requireClientId: flag('Reject tokens whose `azp` or `client_id` is not the configured client.'),
    allowedOrigins: texts(
      'Exact origins that browsers may send requests from, in addition to the origin of this server.',
      { maxItems: 64, ...ATOMIC },
      { pattern: '^https?://[^\\s/?#]+$', maxLength: 255 },
    ),
    allowedHosts: texts(
      'Exact Host headers that the server accepts, with the port if it is not the default.',
      { maxItems: 64, ...ATOMIC },
      { pattern: '^[^\\s/?#*]+$', maxLength: 255 },
    ),
    trustedProxies: texts(
      'Networks of trusted proxies such as an Ingress, for example 10.0.0.0/8. Their `X-Forwarded-For` header is used. When absent, limits per client address are off in a cluster.',
      { maxItems: 32, ...ATOMIC },
      { pattern: '^[0-9a-fA-F:.]+/[0-9]{1,3}$', maxLength: 64 },
    ),
  },
  { description: 'Authentication of clients.' },
);

const backendAuthFields = {
  type: Type.Enum(['discovered', 'externalAuthConfigRef'], {
    description:
      '`discovered`: use the MCPExternalAuthConfig that the backend refers to. `externalAuthConfigRef`: use the one named here.',
  }),
  externalAuthConfigRef: nameRef('MCPExternalAuthConfig; set when `type` is `externalAuthConfigRef`.'),
};
const backendAuth = (description: string) => Closed(backendAuthFields, { description });

const outgoingAuth = block('Authentication to backends.', {
  source: Type.Optional(
    Type.Enum(['discovered', 'inline'], {
      default: 'discovered',
      description:
        '`discovered`: each backend uses the MCPExternalAuthConfig that it refers to. `inline`: only `backends` or `backendList`, and `default` apply; other backends get no credential.',
    }),
  ),
  backends: Type.Optional(
    Type.Record(Type.String(), backendAuth('Authentication to this backend.'), {
      maxProperties: 256,
      description: 'Authentication to single backends, by name of the backend.',
    }),
  ),
  backendList: Type.Optional(
    Type.Array(
      Closed({
        name: Type.String({ minLength: 1, maxLength: 253, description: 'Name of the backend.' }),
        ...backendAuthFields,
      }),
      {
        maxItems: 256,
        description: 'The same as `backends`, as a list: kustomize can rename what it names. Set one of both.',
        ...mapBy('name'),
      },
    ),
  ),
  default: Type.Optional(backendAuth('Authentication to backends that have no other configuration.')),
});

const upstreamNames = (description: string) => texts(description, { maxItems: 8, ...ATOMIC }, { maxLength: 63 });

const authServerUpstreamFilter = block('Selection of the upstream providers after the first, by groups of the user.', {
  claim: text('Claim of the first provider that holds the groups.', {
    default: 'groups',
    minLength: 1,
    maxLength: 253,
  }),
  rules: Type.Array(
    Closed({
      groups: Type.Array(Type.String({ minLength: 1, maxLength: 253 }), {
        minItems: 1,
        maxItems: 100,
        description: 'Groups that the rule applies to. One of them is enough.',
        ...ATOMIC,
      }),
      upstreamProviders: Type.Array(Type.String({ minLength: 1, maxLength: 63 }), {
        minItems: 1,
        maxItems: 8,
        description: 'Providers that these users log in to.',
        ...ATOMIC,
      }),
    }),
    { minItems: 1, maxItems: 100, description: 'Rules. All matching rules apply.', ...ATOMIC },
  ),
  defaultUpstreams: upstreamNames('Providers for users that no rule applies to.'),
});

const deployment = {
  replicas: whole(
    'Number of pods. When absent, an autoscaler may set it, or the operator runs one pod where several would not share keys, logins or sessions.',
    {
      minimum: 0,
      maximum: 2147483647,
      format: 'int32',
    },
  ),
  podTemplateSpec: freeObject('Strategic-merge patch of the pod template; the container is named `vmcp`.'),
  imagePullSecrets: Type.Optional(
    Type.Array(NameRef('Image pull secret.'), { maxItems: 32, description: 'Image pull secrets.', ...ATOMIC }),
  ),
  serviceAccount: text('Existing ServiceAccount to use instead of a generated one.', {
    minLength: 1,
    maxLength: 253,
  }),
  ...exposureFields,
};

const count = (description: string) => whole(description, { format: 'int32' });

const discoveredBackends = Type.Optional(
  Type.Array(
    Closed({
      name: Type.String({ description: 'Name of the backend.' }),
      url: text('MCP endpoint of the backend.'),
      status: Type.Optional(
        Type.Enum(['ready', 'degraded', 'unavailable', 'unauthenticated', 'unknown'], {
          description: 'Health of the backend.',
        }),
      ),
      authType: text('Authentication strategy for the backend.'),
      authConfigRef: text('MCPExternalAuthConfig used for the backend.'),
      mcpRevision: text('MCP revision of the backend.'),
      lastHealthCheck: text('Time of the last probe.', { format: 'date-time' }),
      message: text('Reason why the backend is not ready.'),
      circuitBreakerState: Type.Optional(
        Type.Enum(['closed', 'open', 'half-open'], { description: 'State of the circuit breaker.' }),
      ),
      circuitLastChanged: text('Time when the circuit breaker last changed its state.', { format: 'date-time' }),
      consecutiveFailures: count('Number of consecutive failed probes.'),
    }),
    { description: 'Backends with their health. Written by the gateway.', ...mapBy('name') },
  ),
);

const runtimeProblems = Type.Optional(
  Type.Array(
    Closed({
      reason: Type.String({ description: 'Reason in CamelCase.' }),
      path: text('Field that has the problem.'),
      message: Type.String({ description: 'Problem and solution in one sentence.' }),
    }),
    { description: 'Problems that only the running gateway can detect. Written by the gateway.', ...ATOMIC },
  ),
);

/** Status. The operator writes it, except for the fields that are marked as written by the gateway. */
const virtualMCPServerStatus = Closed(
  {
    ...statusFields,
    phase: Type.Optional(
      Type.Enum(['Pending', 'Ready', 'Degraded', 'Failed', 'Stopped'], {
        default: 'Pending',
        description: 'Summary of the conditions.',
      }),
    ),
    message: text('Reason for the phase.'),
    url: text('MCP endpoint inside the cluster.'),
    publicUrl: text('MCP endpoint for clients outside of the cluster: the resource URL. Absent where none is set.'),
    ...podFields,
    backendCount: count('Number of backends that receive calls. Written by the gateway.'),
    discoveredBackends,
    runtimeProblems,
    oidcConfigHash: text('Digest of the MCPOIDCConfig in use.'),
    authzConfigHash: text('Digest of the policies in use.'),
    telemetryConfigHash: text('Digest of the telemetry configuration in use.'),
    webhookConfigHash: text('Digest of the MCPWebhookConfig in use.'),
    externalAuthHashes: textMap('Digests of the MCPExternalAuthConfigs in use, by backend.'),
    secretHash: text('Digest of the versions of the Secrets in use.'),
  },
  { description: 'Observed state.' },
);

/** MCP endpoint that aggregates the servers of a group. */
export const VirtualMCPServer = defineKind({
  kind: 'VirtualMCPServer',
  collection: 'vmcps',
  role: 'virtualServer',
  hasWorkload: true,
  shortNames: ['vmcp', 'virtualmcp'],
  description: 'MCP endpoint that aggregates the servers of a group.',
  spec: Closed(
    {
      groupRef: NameRef('MCPGroup whose members are the backends.'),
      incomingAuth,
      outgoingAuth,
      authServerConfig: authServerConfig(),
      authServerUpstreamFilter,
      config: vmcpConfig(),
      passthroughHeaders: headerNames('Headers of client requests to copy to every backend request.'),
      sessionStorage: sessionStorage(
        'Storage of MCP sessions and rate limits. Defaults to the store of `authServerConfig.storage` if replicas share that, else to the memory of each replica. `memory` is for sessions only.',
      ),
      telemetryConfigRef: telemetryConfigRef(),
      webhookConfigRef: nameRef('MCPWebhookConfig whose webhooks decide on calls.'),
      embeddingServerRef: nameRef('Embedding server of the optimizer.'),
      ...deployment,
    },
    { description: 'Desired state.' },
  ),
  status: virtualMCPServerStatus,
  rules: virtualMCPServerRules,
  objectRules: [...workloadName(), ...virtualMCPServerObjectRules],
  columns: [
    { name: 'Phase', type: 'string', jsonPath: '.status.phase', description: 'Summary of the conditions.' },
    { name: 'URL', type: 'string', jsonPath: '.status.url', description: 'MCP endpoint inside the cluster.' },
    {
      name: 'Backends',
      type: 'integer',
      jsonPath: '.status.backendCount',
      description: 'Number of backends that receive calls.',
    },
    AGE,
    conditionColumn('Ready'),
    {
      name: 'Public URL',
      type: 'string',
      jsonPath: '.status.publicUrl',
      description: 'MCP endpoint for clients outside of the cluster.',
      priority: 1,
    },
  ],
});
export type VirtualMCPServer = ObjectOf<typeof VirtualMCPServer>;
