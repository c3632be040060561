import type { Writable } from 'node:stream';
import { createLogger, format, transports, type Logform } from 'winston';
import { escapeInvisible, printable } from '../contract/text/printable.ts';
import type { LogFormat, Logger, LogLevel } from '../contract/logger.ts';
import { redactMember } from './redact.ts';

/** One entry of the log, already redacted. */
export interface LogEntry {
  readonly level: string;
  readonly message: unknown;
  /** Facts by name. */
  readonly [fact: string]: unknown;
}

/** Facts that name what the entry is about: the first fact that is present stands before the sentence. */
const SUBJECTS = ['backend', 'workload', 'provider', 'server'];

/** SGR parameters of the levels (ECMA-48): the 16 colours of a terminal, which suit light and dark themes. */
const LEVEL_COLORS: Readonly<Record<string, number>> = { error: 31, warn: 33, info: 36, debug: 90 };
const BOLD = 1;
/** Width of the column of subjects, in characters; a longer name moves its sentence to the right. */
const SUBJECT_WIDTH = 12;
const DIM = 2;

const isBlock = (value: unknown): value is string => typeof value === 'string' && value.trim().includes('\n');

/** Returns a value as one word, or in quotes. */
function word(value: unknown): string {
  const text = typeof value === 'string' ? value.trim() : JSON.stringify(value);
  return /^[^\s"=]+$/u.test(text) || typeof value !== 'string' ? text : JSON.stringify(text);
}

/**
 * Renders an entry as one line for a terminal: local time, level, subject, sentence and facts. A fact of several lines,
 * such as a stack, follows below, indented.
 */
export function textLine({ level, message, ...facts }: LogEntry, time: Date, hasColor: boolean): string {
  const style = (code: number | undefined, text: string): string =>
    hasColor && code !== undefined ? `\u001b[${String(code)}m${text}\u001b[0m` : text;
  const present = Object.entries(facts).filter(([, value]) => value !== undefined && value !== '');
  const subject = SUBJECTS.find((name) => typeof facts[name] === 'string');
  // The virtual server is the same on most lines: last.
  const others = present
    .filter(([name]) => name !== subject)
    .toSorted(([a], [b]) => Number(a === 'server') - Number(b === 'server'));
  const clock = [time.getHours(), time.getMinutes(), time.getSeconds()].map((part) => String(part).padStart(2, '0'));
  const parts = [
    style(DIM, clock.join(':')),
    style(LEVEL_COLORS[level], level.toUpperCase().padEnd(5)),
    style(BOLD, printable(subject === undefined ? '' : String(facts[subject])).padEnd(SUBJECT_WIDTH)),
    printable(String(message)),
    ...others
      .filter(([, value]) => !isBlock(value))
      .map(([name, value]) => `${style(DIM, `${name}=`)}${printable(word(value))}`),
  ];
  const blocks = others.flatMap(([name, value]) =>
    isBlock(value)
      ? [
          `    ${style(DIM, `${name}:`)}`,
          ...value
            .trim()
            .split('\n')
            .map((line) => `      ${printable(line)}`),
        ]
      : [],
  );
  return [parts.join('  ').trimEnd(), ...blocks].join('\n');
}

/** Log of the process. */
export interface RootLog extends Logger {
  isLevelEnabled(level: string): boolean;
  /** Returns a log that adds these fields to every line. */
  child(fields: object): RootLog;
}

/** Redacts every fact. Message, time and level come first: people read the start of a line. */
const redacted = format(({ message, timestamp, level, ...facts }) => {
  const info: Logform.TransformableInfo = { message, timestamp, level, ...facts };
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

export interface LogOptions {
  /** JSON lines by default. */
  readonly format?: LogFormat;
  /** Colours the lines of `text`. */
  readonly hasColor?: boolean;
  /** Called after the line of a warning or an error has been passed to the stream. */
  readonly onUrgent?: () => void;
}

/** Key of the line of an entry. @see https://github.com/winstonjs/triple-beam */
const MESSAGE = Symbol.for('message');

/** Escapes what JSON may hold and a terminal obeys. */
const visible = format((info) => {
  info[MESSAGE] = escapeInvisible(String(info[MESSAGE]));
  return info;
});

/** A line of JSON keeps the order of its members. */
const asJson = format.combine(format.json({ deterministic: false }), visible());

const asText = (hasColor: boolean) =>
  format.printf(({ timestamp, ...entry }) => textLine(entry, new Date(String(timestamp)), hasColor));

/**
 * Creates a log of lines: a constant message, facts as fields, no secret in either. Entries below `level` cost no formatting:
 * winston runs the format of a logger for every entry, and that of a transport for those that its level lets through.
 */
export function createLog(
  stream: Writable,
  level: LogLevel,
  { format: kind = 'json', hasColor = false, onUrgent }: LogOptions = {},
): RootLog {
  const lines = kind === 'json' ? asJson : asText(hasColor);
  const transport = new transports.Stream({ stream, format: format.combine(format.timestamp(), redacted(), lines) });
  if (onUrgent) {
    const write = transport.log?.bind(transport);
    // a second transport for these lines would cost as much as the first
    transport.log = (info: Logform.TransformableInfo, next: () => void) => {
      write?.(info, next);
      if (info.level === 'warn' || info.level === 'error') onUrgent();
    };
  }
  return createLogger({ level, format: unchanged(), transports: [transport] });
}
