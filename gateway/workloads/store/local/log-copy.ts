import { LOG_LEVELS, type Logger, type LogLevel } from '../../../contract/logger.ts';

/** Fields that are shown: names and counts, never text of a request. */
const SHOWN = new Set(['backend', 'reason', 'error', 'restartInMs', 'exitCode', 'signal', 'status', 'port', 'image']);

/** Returns a log that also writes each line except debug messages as text, for the users of one workload. */
export function withCopy(log: Logger, append: (line: string) => void): Logger {
  const copied =
    (level: LogLevel): Logger['info'] =>
    (message, fields) => {
      log[level](message, fields);
      if (level !== 'debug' && message !== 'workload output') append(lineOf(level, message, fields));
    };
  return Object.fromEntries(LOG_LEVELS.map((level) => [level, copied(level)])) as unknown as Logger;
}

function lineOf(level: LogLevel, message: string, fields: object = {}): string {
  const shown = Object.entries(fields as Record<string, unknown>).filter(
    ([name, value]) => SHOWN.has(name) && (typeof value === 'string' || typeof value === 'number'),
  );
  return [level, message, ...shown.map(([name, value]) => `${name}=${String(value)}`)].join(' ');
}
