import { Type } from 'typebox';
import { Closed, SCOPE_PATTERN } from '../../gateway/contract/fields.ts';
import { ATOMIC, block, flag, freeObject, text, texts, whole } from '../../gateway/contract/optional.ts';
import { NameRef, nameRef } from '../../gateway/contract/references.ts';
import { INCOMING } from '../../gateway/incoming/index.ts';
import { authServerConfig } from './auth-server-config.ts';
import { authzFields, telemetryConfigRef } from './authz.ts';
import { headerNames } from './header-fields.ts';
import { defineKind, workloadName, type ObjectOf } from './kind.ts';
import { oidcConfig, oidcConfigRef } from './oidc.ts';
import { sessionStorage } from './session-storage.ts';
import { virtualMCPServerObjectRules, virtualMCPServerRules } from './virtual-mcp-server-rules.ts';
import { virtualMCPServerStatus } from './virtual-mcp-server-status.ts';
import { vmcpConfig } from './vmcp-config.ts';

const incomingAuth = Closed(
  {
    type: Type.Enum(
      INCOMING.map(({ type }) => type),
      { description: '`anonymous`: no check at all, development only. `oidc`: a bearer token is required.' },
    ),
    oidcConfig: oidcConfig(),
    oidcConfigRef: oidcConfigRef(),
    audience: text('Expected `aud` with `oidcConfigRef`; a URL is also the `resource` of this server.', {
      minLength: 1,
      maxLength: 2048,
    }),
    ...authzFields,
    requiredScopes: texts(
      'Scopes that every token must have.',
      { maxItems: 64, ...ATOMIC },
      { pattern: SCOPE_PATTERN, minLength: 1, maxLength: 256 },
    ),
    clockSkewSeconds: whole('Tolerance for `exp`, `nbf` and `iat`; 30 when absent.', {
      minimum: 0,
      maximum: 300,
      format: 'int32',
    }),
    requireClientId: flag('Refuse tokens whose `azp` or `client_id` is not the configured client.'),
    allowedOrigins: texts(
      'Exact origins that browsers may call from, beside that of this server.',
      { maxItems: 64, ...ATOMIC },
      { pattern: '^https?://[^\\s/?#]+$', maxLength: 255 },
    ),
    allowedHosts: texts(
      'Exact Host headers that are served, with the port where it is not the default.',
      { maxItems: 64, ...ATOMIC },
      { pattern: '^[^\\s/?#*]+$', maxLength: 255 },
    ),
    trustedProxies: texts(
      'Networks of proxies, such as an Ingress, whose `X-Forwarded-For` is believed, such as 10.0.0.0/8. Without it, limits per client address are off in a cluster.',
      { maxItems: 32, ...ATOMIC },
      { pattern: '^[0-9a-fA-F:.]+/[0-9]{1,3}$', maxLength: 64 },
    ),
  },
  { description: 'How clients authenticate (boundary 1).' },
);

const backendAuth = (description: string) =>
  Closed(
    {
      type: Type.Enum(['discovered', 'externalAuthConfigRef'], {
        description: '`discovered`: what the backend itself refers to. `externalAuthConfigRef`: the object named here.',
      }),
      externalAuthConfigRef: nameRef('MCPExternalAuthConfig; set when `type` is `externalAuthConfigRef`.'),
    },
    { description },
  );

const outgoingAuth = block('How backends are authenticated to (boundary 2).', {
  source: Type.Optional(
    Type.Enum(['discovered', 'inline'], {
      default: 'discovered',
      description:
        '`discovered`: what each backend refers to. `inline`: only `backends` and `default`; others get no credential.',
    }),
  ),
  backends: Type.Optional(
    Type.Record(Type.String(), backendAuth('One backend.'), {
      maxProperties: 256,
      description: 'By name of the backend.',
    }),
  ),
  default: Type.Optional(backendAuth('Every backend that has nothing else.')),
});

const upstreamNames = (description: string) => texts(description, { maxItems: 8, ...ATOMIC }, { maxLength: 63 });

const authServerUpstreamFilter = block('Which upstream providers a user visits after the first, by groups.', {
  claim: text('Claim of the first provider that holds groups.', { default: 'groups', minLength: 1, maxLength: 253 }),
  rules: Type.Array(
    Closed({
      groups: Type.Array(Type.String({ minLength: 1, maxLength: 253 }), {
        minItems: 1,
        maxItems: 100,
        description: 'Members of any of these groups.',
        ...ATOMIC,
      }),
      upstreamProviders: Type.Array(Type.String({ minLength: 1, maxLength: 63 }), {
        minItems: 1,
        maxItems: 8,
        description: 'Visit these providers.',
        ...ATOMIC,
      }),
    }),
    { minItems: 1, maxItems: 100, description: 'Every matching rule counts.', ...ATOMIC },
  ),
  defaultUpstreams: upstreamNames('Providers of users whom no rule matches.'),
});

const deployment = {
  replicas: whole('Pods; absent leaves the number to an autoscaler.', {
    minimum: 0,
    maximum: 2147483647,
    format: 'int32',
  }),
  podTemplateSpec: freeObject('Strategic-merge patch of the pod template; the container is named `vmcp`.'),
  imagePullSecrets: Type.Optional(
    Type.Array(NameRef('Secret of a registry.'), { maxItems: 32, description: 'Secrets of registries.', ...ATOMIC }),
  ),
  serviceAccount: text('Existing ServiceAccount to use instead of one made for this server.', {
    minLength: 1,
    maxLength: 253,
  }),
  serviceType: Type.Optional(
    Type.Enum(['ClusterIP', 'NodePort', 'LoadBalancer'], { default: 'ClusterIP', description: 'Type of the Service.' }),
  ),
  sessionAffinity: Type.Optional(
    Type.Enum(['ClientIP', 'None'], { default: 'ClientIP', description: 'Affinity of the Service.' }),
  ),
};

/** One endpoint over the servers of a group. */
export const VirtualMCPServer = defineKind({
  kind: 'VirtualMCPServer',
  collection: 'vmcps',
  role: 'virtualServer',
  hasWorkload: true,
  shortNames: ['vmcp', 'virtualmcp'],
  description: 'One MCP endpoint over the servers of a group.',
  spec: Closed(
    {
      groupRef: NameRef('MCPGroup whose members are the backends.'),
      incomingAuth,
      outgoingAuth,
      authServerConfig: authServerConfig(),
      authServerUpstreamFilter,
      config: vmcpConfig(),
      passthroughHeaders: headerNames('Client headers that are copied to every backend request.'),
      sessionStorage: sessionStorage(),
      telemetryConfigRef: telemetryConfigRef(),
      embeddingServerRef: nameRef('Embedding server of the optimizer.'),
      ...deployment,
    },
    { description: 'What is wanted.' },
  ),
  status: virtualMCPServerStatus,
  rules: virtualMCPServerRules,
  objectRules: [...workloadName(), ...virtualMCPServerObjectRules],
  columns: [
    { name: 'Phase', type: 'string', jsonPath: '.status.phase', description: 'Summary.' },
    { name: 'URL', type: 'string', jsonPath: '.status.url', description: 'MCP endpoint.' },
    { name: 'Backends', type: 'integer', jsonPath: '.status.backendCount', description: 'Backends in use.' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp', description: 'Age.' },
    {
      name: 'Ready',
      type: 'string',
      jsonPath: '.status.conditions[?(@.type=="Ready")].status',
      description: 'Whether it serves.',
    },
  ],
});
export type VirtualMCPServer = ObjectOf<typeof VirtualMCPServer>;
