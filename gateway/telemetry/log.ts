import type { Writable } from 'node:stream';
import { createLogger as winstonLogger, format, transports, type Logger } from 'winston';

const SECRET_KEY = /authorization|cookie|token|secret|password|api[-_]?key|^code$|code_verifier|^state$/i;
const SECRET_TEXT = /\b(Bearer|Basic)\s+[\w.~+/=-]{8,}|\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*/g;
const MAX_DEPTH = 6;

/** A copy in which every value under a secret's name, and every bearer token inside a text, is cut out. */
export function redact(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return value.replace(SECRET_TEXT, '[redacted]');
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return value;
  if (Array.isArray(value)) return value.map((item) => redact(item, depth + 1));
  const copy: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value))
    copy[key] = SECRET_KEY.test(key) ? '[redacted]' : redact(item, depth + 1);
  return copy;
}

const redacted = format((info) => {
  for (const key of Object.keys(info)) {
    if (key !== 'level' && key !== 'timestamp') info[key] = SECRET_KEY.test(key) ? '[redacted]' : redact(info[key]);
  }
  return info;
});

/** What the log says of something that was thrown and should not have been. */
export const stackOf = (thrown: unknown): string =>
  thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);

/** JSON lines: a constant message, facts as fields, no secret in either. */
export function createLog(stream: Writable, level: 'debug' | 'info' | 'warn' | 'error'): Logger {
  return winstonLogger({
    level,
    format: format.combine(format.timestamp(), redacted(), format.json()),
    // eslint-disable-next-line @typescript-eslint/no-unsafe-class-instance-assignment -- winston-transport's own typing
    transports: [new transports.Stream({ stream })],
  });
}
