import type { Logger } from 'winston';

/** What somebody should look at. */
const WARNINGS: ReadonlySet<string> = new Set(['code_replay', 'refresh_reuse', 'login_foreign_browser']);
/** What strangers can make as much of as they like: counted, and shown at debug level. */
const NOISE: ReadonlySet<string> = new Set(['request_refused', 'rate_limited']);

/** Writes what happened at the authorization server to the log, and counts it. */
export const auditTo =
  (log: Logger, count: (event: string) => void) =>
  (event: string, facts: Readonly<Record<string, unknown>> = {}): void => {
    count(event);
    const level = WARNINGS.has(event) ? 'warn' : NOISE.has(event) ? 'debug' : 'info';
    log.log(level, 'audit', { event, ...facts });
  };
