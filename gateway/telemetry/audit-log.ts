import type { Logger } from '../contract/logger.ts';
import type { RefusalLog } from './refusal-log.ts';

/** Events that operators should investigate. */
const WARNINGS: ReadonlySet<string> = new Set(['code_replay', 'refresh_reuse', 'login_foreign_browser']);
/** Events that unauthenticated clients can cause without limit. */
const REFUSALS: ReadonlySet<string> = new Set(['request_refused', 'rate_limited']);

/** Logs and counts the events of the authorization server. */
export const auditTo =
  (log: Logger, count: (event: string) => void, refusals: RefusalLog) =>
  (event: string, facts: Readonly<Record<string, unknown>> = {}): void => {
    count(event);
    const line = {
      level: WARNINGS.has(event) ? 'warn' : 'info',
      message: 'audit',
      facts: { event, ...facts },
    } as const;
    if (REFUSALS.has(event)) refusals.write({ ...line, kind: `${event} ${String(facts['reason'])}` });
    else log[line.level](line.message, line.facts);
  };
