import { Type, type Static } from 'typebox';
import { Closed } from '../fields.ts';
import { flag, text, texts, whole } from '../optional.ts';
import type { Problem } from '../problem.ts';

/** Every type of audit event, with its meaning. */
export const AUDIT_EVENTS = {
  mcp_initialize: 'A client sent `initialize`.',
  mcp_tool_call: 'A client called a tool.',
  mcp_tools_list: 'A client listed tools.',
  mcp_resource_read: 'A client read a resource.',
  mcp_resources_list: 'A client listed resources or resource templates.',
  mcp_prompt_get: 'A client got a prompt.',
  mcp_prompts_list: 'A client listed prompts.',
  mcp_notification: 'A client sent a notification, except the one about roots.',
  mcp_roots_list_changed: 'A client sent `notifications/roots/list_changed`.',
  mcp_ping: 'A client sent `ping`.',
  mcp_logging: 'A client set the log level.',
  mcp_completion: 'A client asked for a completion.',
  mcp_request:
    'Any other request to an MCP endpoint: another method, a response to a server, `DELETE`, and a request that was rejected before its body was read.',
  sse_connection: 'A client opened an event stream, or was refused one.',
  http_request: 'A request to any other path of the MCP listener, except `/health`, `/ping` and `/readyz`.',
  vmcp_session_created: 'A session began.',
  vmcp_session_terminated: 'A session ended.',
  vmcp_session_binding_violation: 'A client presented the session id of another user.',
  vmcp_upstream_token_refreshed: 'An upstream token was refreshed.',
  vmcp_upstream_token_failed: 'An upstream token could not be refreshed, or its provider has withdrawn it.',
  vmcp_auth_client_registered: 'A client registered at the authorization server.',
  vmcp_auth_client_deleted: 'A client deleted its registration.',
  vmcp_auth_consent_granted: 'A user approved a client.',
  vmcp_auth_consent_denied: 'A user rejected a client.',
  vmcp_auth_login_succeeded: 'A user logged in at an identity provider.',
  vmcp_auth_login_failed: 'A login at an identity provider failed.',
  vmcp_auth_login_foreign_browser: 'A login was continued in another browser than the one in which it began.',
  vmcp_auth_upstream_subject_changed: 'A user logged in at a further provider as another subject than before.',
  vmcp_auth_code_issued: 'An authorization code was issued.',
  vmcp_auth_code_replayed: 'An authorization code was used twice. Its login has ended.',
  vmcp_auth_token_issued: 'Tokens were issued for an authorization code.',
  vmcp_auth_token_refreshed: 'Tokens were issued for a refresh token.',
  vmcp_auth_token_exchanged: 'A delegate client exchanged a token of a user.',
  vmcp_auth_assertion_redeemed: 'A token was issued for an assertion of a trusted issuer.',
  vmcp_auth_refresh_token_reused: 'A refresh token was used again too late. Its login has ended.',
  vmcp_auth_login_ended: 'A login was revoked, or its user logged out.',
  vmcp_auth_request_refused: 'The authorization server rejected a request.',
  vmcp_auth_rate_limited: 'The authorization server rejected a request because of a rate limit.',
  vmcp_management_request:
    'A request to the management API that can change something, or that was rejected with 401, 403 or 429.',
} as const satisfies Readonly<Record<string, string>>;

export type AuditEventType = keyof typeof AUDIT_EVENTS;
export const AUDIT_EVENT_TYPES = Object.keys(AUDIT_EVENTS) as readonly AuditEventType[];

const ON_OVERFLOW = ['drop', 'refuse'] as const;

/** Type of the field `onOverflow`, which resources and run configurations have. */
export const onOverflow = Type.Optional(
  Type.Enum([...ON_OVERFLOW], {
    default: 'drop',
    description:
      'While the queue of events is full, `drop` omits and counts events, and `refuse` rejects requests with 503.',
  }),
);

export const AUDIT_DEFAULTS = { maxDataSize: 1024, maxDelegationDepth: 10 } as const;

/** Audit settings of a run configuration, and the content of the file that `audit_config_path` names. */
export const AuditConfig = Closed(
  {
    enabled: flag('Write audit events. False turns them off.', { default: true }),
    component: text('Component in each event. Defaults to `name`.'),
    eventTypes: texts('Event types to write. All types when absent or empty.'),
    excludeEventTypes: texts('Event types to omit. Takes precedence over `eventTypes`.'),
    includeRequestData: flag('Write requests, without values of secret names.'),
    includeResponseData: flag('Write responses, without values of secret names.'),
    detectApplicationErrors: flag('Tell results with `isError` from successful ones.', { default: true }),
    logFile: text('File for events. Defaults to standard output.'),
    maxDataSize: whole('Maximum number of bytes to write of a request or response.', {
      default: AUDIT_DEFAULTS.maxDataSize,
    }),
    maxDelegationDepth: whole('Maximum number of nested `act` claims to write.', {
      default: AUDIT_DEFAULTS.maxDelegationDepth,
    }),
    onOverflow,
  },
  { description: 'Audit log.' },
);
export type AuditConfig = Static<typeof AuditConfig>;

interface Audited {
  readonly audit_config?: AuditConfig | undefined;
  readonly audit_config_path?: string | undefined;
}

/** Lists problems of the audit settings that the schema does not express. */
export function auditProblems({ audit_config: audit, audit_config_path: path }: Audited): Problem[] {
  if (audit === undefined) return [];
  if (path === undefined)
    return auditConfigProblems(audit).map((problem) => ({ ...problem, path: `audit_config.${problem.path}` }));
  const message = 'set audit_config or audit_config_path, not both';
  return [{ reason: 'RuleViolated', path: 'audit_config_path', message }];
}

/** Lists problems of one set of audit settings. */
export function auditConfigProblems(audit: AuditConfig): Problem[] {
  const unknown = (['eventTypes', 'excludeEventTypes'] as const).flatMap((member) =>
    (audit[member] ?? []).flatMap((type, index): Problem[] =>
      Object.hasOwn(AUDIT_EVENTS, type)
        ? []
        : [
            {
              reason: 'InvalidValue',
              path: `${member}[${String(index)}]`,
              message: `"${type}" is no event type: use ${AUDIT_EVENT_TYPES.join(', ')}`,
            },
          ],
    ),
  );
  const small = (member: 'maxDataSize' | 'maxDelegationDepth', least: number): Problem[] =>
    (audit[member] ?? least) >= least
      ? []
      : [{ reason: 'InvalidValue', path: member, message: `must be at least ${String(least)}` }];
  return [...unknown, ...small('maxDataSize', 0), ...small('maxDelegationDepth', 1)];
}
