import { memberOf } from '../http/json-walk.ts';
import { readString, type Envelope } from '../http/json-scan.ts';

/** RFC 5424 severities in the spelling of MCP, least severe first. */
export const LOG_LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const;

/**
 * Returns true when a `notifications/message` is at least as severe as `level`, an index of `LOG_LEVELS`, or has an
 * unknown level.
 */
export function passesLogLevel(level: number, message: Buffer, { params }: Envelope): boolean {
  if (level <= 0) return true;
  const severity = LOG_LEVELS.indexOf(
    readString(message, memberOf(message, params, 'level')) as (typeof LOG_LEVELS)[number],
  );
  return severity === -1 || severity >= level;
}
