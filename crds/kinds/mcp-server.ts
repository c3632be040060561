import { Type } from 'typebox';
import { Closed } from '../../gateway/contract/fields.ts';
import { block, flag } from '../../gateway/contract/optional.ts';
import { nameRef, RefName } from '../../gateway/contract/references.ts';
import { rule, type Rule } from '../../gateway/contract/rule.ts';
import { authzFields, authzRules, telemetryConfigRef } from './authz.ts';
import { defineKind, workloadName, type ObjectOf } from './kind.ts';
import { mcpServerStatus } from './mcp-server-status.ts';
import { workloadFields, workloadRules } from './mcp-server-workload.ts';
import { oidcConfigRef } from './oidc.ts';
import { limitsUsers, limitsUsersCel, rateLimiting, rateLimitingRules } from './rate-limiting.ts';
import { sessionStorage, sessionStorageRules } from './session-storage.ts';

const authServerRef = Type.Optional(
  Closed(
    {
      kind: Type.Optional(
        Type.Enum(['MCPExternalAuthConfig'], { default: 'MCPExternalAuthConfig', description: 'Kind of the object.' }),
      ),
      name: RefName('Name of the object.'),
    },
    { description: 'Authorization server in front of this server.' },
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
  readonly spec: { readonly transport?: string };
}

/** A StatefulSet labels its pods with its name and a digest. */
const stdioName: Rule = rule<NamedServer>('', {
  field: 'metadata.name',
  rule: "self.spec.transport != 'stdio' || size(self.metadata.name) <= 48",
  message: 'metadata.name must have at most 48 characters where transport is stdio',
  check: ({ metadata, spec }) => spec.transport !== 'stdio' || metadata.name.length <= 48,
});

/** One MCP server that is run for you. */
export const MCPServer = defineKind({
  kind: 'MCPServer',
  collection: 'servers',
  role: 'member',
  hasWorkload: true,
  shortNames: [],
  description: 'One MCP server that is run here, a member of a group.',
  spec: Closed(
    {
      groupRef: nameRef('MCPGroup that the server belongs to.'),
      ...workloadFields,
      externalAuthConfigRef: nameRef('MCPExternalAuthConfig: how the gateway authenticates to this server.'),
      oidcConfigRef: oidcConfigRef(),
      authServerRef,
      ...authzFields,
      audit: block('The audit stream of this server.', {
        enabled: flag('Write audit events.', { default: false }),
      }),
      rateLimiting: rateLimiting(),
      sessionStorage: sessionStorage(),
      telemetryConfigRef: telemetryConfigRef(),
      toolConfigRef: nameRef('A shared tool configuration.'),
      webhookConfigRef: nameRef('A shared webhook configuration.'),
    },
    { description: 'What is wanted.' },
  ),
  status: mcpServerStatus,
  rules: [
    ...workloadRules,
    ...userRules,
    ...authzRules,
    ...rateLimitingRules('rateLimiting'),
    ...sessionStorageRules('sessionStorage'),
  ],
  objectRules: [...workloadName(), stdioName],
  columns: [
    { name: 'Status', type: 'string', jsonPath: '.status.phase', description: 'Summary.' },
    {
      name: 'Ready',
      type: 'string',
      jsonPath: '.status.conditions[?(@.type=="Ready")].status',
      description: 'Whether it serves.',
    },
    { name: 'Replicas', type: 'integer', jsonPath: '.status.readyReplicas', description: 'Ready pods.' },
    { name: 'URL', type: 'string', jsonPath: '.status.url', description: 'MCP endpoint.' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp', description: 'Age.' },
  ],
});
export type MCPServer = ObjectOf<typeof MCPServer>;
