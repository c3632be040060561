import { Type } from 'typebox';
import { Closed } from '../../gateway/contract/fields.ts';
import { block, flag, text, whole } from '../../gateway/contract/optional.ts';
import { nameRef, RefName } from '../../gateway/contract/references.ts';
import { rule, type Rule } from '../../gateway/contract/rule.ts';
import { authzFields, authzRules, telemetryConfigRef } from './fields/authz.ts';
import {
  AGE,
  conditionColumn,
  defineKind,
  podFields,
  statusFields,
  workloadName,
  type ObjectOf,
} from './schema/kind.ts';
import { workloadFields, workloadRules } from './mcp-server-workload.ts';
import { oidcConfigRef } from './fields/oidc.ts';
import { limitsUsers, limitsUsersCel, rateLimitRules, rateLimitSpec } from '../../gateway/policy/rate-limit/spec.ts';
import { sessionStorage, sessionStorageRules } from './fields/stores.ts';

const authServerRef = Type.Optional(
  Closed(
    {
      kind: Type.Optional(
        Type.Enum(['MCPExternalAuthConfig'], { default: 'MCPExternalAuthConfig', description: 'Kind of the object.' }),
      ),
      name: RefName('Name of the object.'),
    },
    { description: 'MCPExternalAuthConfig of type `embeddedAuthServer`: the authorization server for this server.' },
  ),
);

interface Spec {
  readonly rateLimiting?: Parameters<typeof limitsUsers>[0];
  readonly oidcConfigRef?: { readonly audience?: string };
  readonly externalAuthConfigRef?: unknown;
}

const userRules: Rule[] = [
  rule<Spec>('', {
    field: 'rateLimiting',
    rule: `!has(self.rateLimiting) || !${limitsUsersCel('self.rateLimiting')} || has(self.oidcConfigRef) || has(self.externalAuthConfigRef)`,
    message: 'a perUser limit needs oidcConfigRef or externalAuthConfigRef',
    check: (self) =>
      !limitsUsers(self.rateLimiting) || self.oidcConfigRef !== undefined || self.externalAuthConfigRef !== undefined,
  }),
  rule<Spec>('', {
    field: 'oidcConfigRef',
    rule: '!has(self.oidcConfigRef) || has(self.oidcConfigRef.audience)',
    message: 'oidcConfigRef.audience is required here',
    check: (self) => self.oidcConfigRef === undefined || self.oidcConfigRef.audience !== undefined,
  }),
];

interface NamedServer {
  readonly metadata: { readonly name: string };
  /** Undefined in an object that the schema rejects, too. */
  readonly spec: { readonly transport?: string } | undefined;
}

/** Limits the name of a stdio server: its StatefulSet puts the name and a digest into a label of the pods. */
const stdioName: Rule = rule<NamedServer>('', {
  field: 'metadata.name',
  rule: "self.spec.transport != 'stdio' || size(self.metadata.name) <= 48",
  message: 'metadata.name must have at most 48 characters where transport is stdio',
  check: ({ metadata, spec }) => spec?.transport !== 'stdio' || metadata.name.length <= 48,
});

const digest = (what: string) => text(`Digest of the ${what} in use.`);

const mcpServerStatus = Closed(
  {
    ...statusFields,
    phase: Type.Optional(
      Type.Enum(['Pending', 'Ready', 'Failed', 'Terminating', 'Stopped'], {
        default: 'Pending',
        description: 'Summary of the conditions.',
      }),
    ),
    message: text('Reason for the phase.'),
    url: text('MCP endpoint inside the cluster.'),
    publicUrl: text('MCP endpoint for clients outside of the cluster: the resource URL. Absent where none is set.'),
    ...podFields,
    readyReplicas: whole('Number of ready pods.', { format: 'int32' }),
    toolConfigHash: digest('MCPToolConfig'),
    externalAuthConfigHash: digest('MCPExternalAuthConfig'),
    authServerConfigHash: digest('authorization server configuration'),
    authzConfigHash: digest('policies'),
    oidcConfigHash: digest('MCPOIDCConfig'),
    telemetryConfigHash: digest('telemetry configuration'),
    webhookConfigHash: digest('webhook configuration'),
  },
  { description: 'Observed state.' },
);

/** MCP server that the operator runs. */
export const MCPServer = defineKind({
  kind: 'MCPServer',
  collection: 'servers',
  role: 'member',
  hasWorkload: true,
  shortNames: [],
  description: 'MCP server that the operator runs. It belongs to a group.',
  spec: Closed(
    {
      groupRef: nameRef('MCPGroup of the server.'),
      ...workloadFields,
      externalAuthConfigRef: nameRef('MCPExternalAuthConfig that gateways use for this server.'),
      oidcConfigRef: oidcConfigRef(),
      authServerRef,
      ...authzFields,
      audit: block('Audit log of the requests to the address of this server.', {
        enabled: flag('Write audit events.', { default: false }),
      }),
      rateLimiting: Type.Optional(rateLimitSpec),
      sessionStorage: sessionStorage(
        'Storage of the sessions and rate limits at the address of this server. Defaults to the memory of each pod.',
      ),
      telemetryConfigRef: telemetryConfigRef(),
      toolConfigRef: nameRef(
        'MCPToolConfig for the tools of this server, in every virtual server. `config.aggregation.tools` there precedes it.',
      ),
      webhookConfigRef: nameRef('MCPWebhookConfig whose webhooks decide on calls at the address of this server.'),
    },
    { description: 'Desired state.' },
  ),
  status: mcpServerStatus,
  rules: [
    ...workloadRules,
    ...userRules,
    ...authzRules,
    ...rateLimitRules('rateLimiting'),
    ...sessionStorageRules('sessionStorage'),
  ],
  objectRules: [...workloadName(), stdioName],
  columns: [
    { name: 'Status', type: 'string', jsonPath: '.status.phase', description: 'Summary of the conditions.' },
    conditionColumn('Ready'),
    { name: 'Replicas', type: 'integer', jsonPath: '.status.readyReplicas', description: 'Number of ready pods.' },
    { name: 'URL', type: 'string', jsonPath: '.status.url', description: 'MCP endpoint inside the cluster.' },
    AGE,
    {
      name: 'Public URL',
      type: 'string',
      jsonPath: '.status.publicUrl',
      description: 'MCP endpoint for clients outside of the cluster.',
      priority: 1,
    },
  ],
});
export type MCPServer = ObjectOf<typeof MCPServer>;
