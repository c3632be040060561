import type { AuthServerEvent } from '../authserver/events.ts';
import type { AuditEventType } from '../contract/run-config/audit.ts';
import { redact } from '../telemetry/redact.ts';
import { currentRequest } from './audited-request.ts';
import { GATEWAY, subjectOnly, type AuditLog } from './audit-log.ts';
import type { Outcome, Target } from './event.ts';

interface Described {
  readonly type: AuditEventType;
  readonly outcome: Outcome;
  readonly target: NonNullable<Target['type']>;
}

const login = (type: AuditEventType, outcome: Outcome = 'success'): Described => ({ type, outcome, target: 'login' });
const token = (type: AuditEventType, outcome: Outcome): Described => ({ type, outcome, target: 'upstream_token' });

/** The audit event of each event of the authorization server. */
const EVENTS: Readonly<Record<AuthServerEvent, Described>> = {
  client_registered: login('vmcp_auth_client_registered'),
  client_deleted: login('vmcp_auth_client_deleted'),
  consent_granted: login('vmcp_auth_consent_granted'),
  consent_denied: login('vmcp_auth_consent_denied', 'denied'),
  login_leg_ok: login('vmcp_auth_login_succeeded'),
  login_leg_failed: login('vmcp_auth_login_failed', 'failure'),
  login_foreign_browser: login('vmcp_auth_login_foreign_browser', 'denied'),
  other_upstream_subject: login('vmcp_auth_upstream_subject_changed'),
  code_issued: login('vmcp_auth_code_issued'),
  code_replay: login('vmcp_auth_code_replayed', 'denied'),
  token_issued: login('vmcp_auth_token_issued'),
  token_refreshed: login('vmcp_auth_token_refreshed'),
  token_exchanged: login('vmcp_auth_token_exchanged'),
  assertion_redeemed: login('vmcp_auth_assertion_redeemed'),
  refresh_reuse: login('vmcp_auth_refresh_token_reused', 'denied'),
  revoked: login('vmcp_auth_login_ended'),
  request_refused: login('vmcp_auth_request_refused', 'denied'),
  rate_limited: login('vmcp_auth_rate_limited', 'failure'),
  upstream_refreshed: token('vmcp_upstream_token_refreshed', 'success'),
  upstream_refresh_failed: token('vmcp_upstream_token_failed', 'error'),
  upstream_token_dead: token('vmcp_upstream_token_failed', 'failure'),
};

type Facts = Readonly<Record<string, unknown>>;

/** Writes an event of the authorization server. Returns false if the settings omit its type. */
export function writeAuthServerEvent(log: AuditLog, event: AuthServerEvent, facts: Facts): boolean {
  const { type, outcome, target } = EVENTS[event];
  if (!log.takes(type)) return false;
  const { sub, path, request_id: _inSource, ...others } = redact(facts) as Facts;
  const request = currentRequest();
  const endpoint = request?.endpoint ?? path;
  log.write({
    type,
    outcome,
    source: request?.source ?? GATEWAY,
    who: subjectOnly(typeof sub === 'string' ? sub : undefined),
    target: { ...(typeof endpoint === 'string' && { endpoint }), type: target },
    extra: others,
  });
  return true;
}
