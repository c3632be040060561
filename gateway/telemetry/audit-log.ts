import type { Logger } from '../contract/logger.ts';
import type { RefusalLog } from './refusal-log.ts';

/** Events that operators should investigate. */
const WARNINGS: ReadonlySet<string> = new Set(['code_replay', 'refresh_reuse', 'login_foreign_browser']);
/** Events that unauthenticated clients can cause without limit. */
const REFUSALS: ReadonlySet<string> = new Set(['request_refused', 'rate_limited']);

type Facts = Readonly<Record<string, unknown>>;

/**
 * Counts the events of the authorization server and writes them: with `write` to the audit log, or to the log while `write` returns
 * false.
 */
export const auditTo =
  <Event extends string>(
    log: Logger,
    count: (event: string) => void,
    refusals: RefusalLog,
    write: (event: Event, facts: Facts) => boolean = () => false,
  ) =>
  (event: Event, facts: Facts = {}): void => {
    count(event);
    if (write(event, facts)) return;
    const line = {
      level: WARNINGS.has(event) ? 'warn' : 'info',
      message: 'audit',
      facts: { event, ...facts },
    } as const;
    if (REFUSALS.has(event)) refusals.write({ ...line, kind: `${event} ${String(facts['reason'])}` });
    else log[line.level](line.message, line.facts);
  };
