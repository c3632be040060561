/** Levels of the log, the lowest first. */
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export const LOG_FORMATS = ['text', 'json'] as const;
export type LogFormat = (typeof LOG_FORMATS)[number];

/** Structured log. A module that needs few levels takes a `Pick` of it. */
export interface Logger {
  error(message: string, fields?: object): void;
  warn(message: string, fields?: object): void;
  info(message: string, fields?: object): void;
  debug(message: string, fields?: object): void;
}

/** Returns a log that adds these fields to every line. */
export const withFields = (log: Logger, added: object): Logger => ({
  error: (message, fields) => log.error(message, { ...added, ...fields }),
  warn: (message, fields) => log.warn(message, { ...added, ...fields }),
  info: (message, fields) => log.info(message, { ...added, ...fields }),
  debug: (message, fields) => log.debug(message, { ...added, ...fields }),
});
