/** The part of the log that is used here. */
export interface Logger {
  error(message: string, facts?: Readonly<Record<string, unknown>>): void;
  warn(message: string, facts?: Readonly<Record<string, unknown>>): void;
  info(message: string, facts?: Readonly<Record<string, unknown>>): void;
  debug(message: string, facts?: Readonly<Record<string, unknown>>): void;
}
