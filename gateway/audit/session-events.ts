import type { Identity } from '../contract/identity.ts';
import type { SessionFacts } from '../policy/policy.ts';
import { GATEWAY, type AuditLog } from './audit-log.ts';

/** Writes the event of a session that has ended. */
export function sessionEnded(
  log: AuditLog,
  session: SessionFacts & { readonly identity: Identity | undefined },
  reason: string,
): void {
  log.write({
    type: 'vmcp_session_terminated',
    outcome: 'success',
    source: { ...GATEWAY, extra: { session_id: session.id } },
    who: log.who(session.identity, session.client),
    target: { type: 'session' },
    extra: { reason, revision: session.revision },
  });
}
