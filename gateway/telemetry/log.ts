import type { Writable } from 'node:stream';
import { createLogger, format, transports } from 'winston';
import type { Logger } from '../contract/logger.ts';
import { redactMember } from './redact.ts';

/** Log of the process. */
export interface RootLog extends Logger {
  isLevelEnabled(level: string): boolean;
  /** Returns a log that adds these fields to every line. */
  child(fields: object): RootLog;
}

const redacted = format((info) => {
  for (const key of Object.keys(info)) {
    if (key !== 'level' && key !== 'timestamp') info[key] = redactMember(key, info[key]);
  }
  return info;
});

const unchanged = format((info) => info);

/** Returns name, message and stack of an unexpected error. */
export const stackOf = (thrown: unknown): string =>
  thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);

/** Returns name and stack frames of an error, without its message, which may quote a request. */
export const framesOf = (thrown: unknown): string => {
  if (!(thrown instanceof Error)) return typeof thrown;
  const frames = (thrown.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  return [thrown.name, ...frames].join('\n');
};

/**
 * JSON lines: a constant message, facts as fields, no secret in either. Entries below `level` cost no formatting: winston
 * runs the format of a logger for every entry, and that of a transport for those that its level lets through.
 */
export function createLog(stream: Writable, level: 'debug' | 'info' | 'warn' | 'error'): RootLog {
  return createLogger({
    level,
    format: unchanged(),
    transports: [
      // eslint-disable-next-line @typescript-eslint/no-unsafe-class-instance-assignment -- winston-transport's own typing
      new transports.Stream({ stream, format: format.combine(format.timestamp(), redacted(), format.json()) }),
    ],
  });
}
