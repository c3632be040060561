import { Writable } from 'node:stream';
import type { WriteStream } from 'node:tty';
import { LOG_LEVELS, type LogFormat, type LogLevel } from '../../gateway/contract/logger.ts';
import { createLog, type RootLog } from '../../gateway/telemetry/log.ts';

/** Options of every command. */
export interface LogFlags {
  readonly logFormat?: LogFormat;
  readonly logLevel?: LogLevel;
}

/** A standard stream: a terminal, a pipe or a file. */
type Output = NodeJS.WritableStream & Partial<Pick<WriteStream, 'isTTY' | 'hasColors'>>;

/**
 * Creates the log of a command on stderr: text on a terminal, otherwise JSON lines. `configured` is the level without
 * `--log-level`. Colours follow NO_COLOR, FORCE_COLOR and TERM as Node reads them.
 */
export function createCommandLog(
  stderr: Output & Parameters<typeof createLog>[0],
  flags: LogFlags,
  configured: LogLevel,
): RootLog {
  const isTerminal = stderr.isTTY === true;
  const { stream, flush } = isTerminal ? { stream: styledLines(stderr) } : collectedLines(stderr);
  return createLog(stream, flags.logLevel ?? configured, {
    ...(flush && { onUrgent: flush }),
    format: flags.logFormat ?? (isTerminal ? 'text' : 'json'),
    hasColor: isTerminal && stderr.hasColors?.() === true,
  });
}

/** Writes lines as bytes: the log has made their texts visible, and its colours must stay. */
const styledLines = (terminal: Output): Writable =>
  new Writable({ write: (line: Buffer, _encoding, onWritten) => void terminal.write(line, () => onWritten()) });

/** Returns the lowest of these levels; without one a server logs from `info`. */
export function lowestLevel(levels: readonly (LogLevel | undefined)[]): LogLevel {
  const indexes = levels.map((level) => LOG_LEVELS.indexOf(level ?? 'info'));
  return LOG_LEVELS[Math.min(...indexes)] ?? 'info';
}

/** Time in which lines are collected, in ms. */
const WINDOW_MS = 10;
/** Number of characters after which the waiting lines are written. */
const MOST_WAITING = 64 * 1024;

/** Stream of lines in front of an output. */
export interface CollectedLines {
  /** Writes the first line at once and those of the next 10 ms together. */
  readonly stream: Writable;
  /** Writes the lines that wait. */
  readonly flush: () => void;
}

/**
 * Collects the lines for a pipe or a file: each write stops all requests for some 50 us, and a login writes three lines.
 * Lines that wait are written when the process exits. A process that is killed or runs out of memory loses them.
 */
export function collectedLines(output: Pick<NodeJS.WritableStream, 'write'>): CollectedLines {
  let waiting = '';
  let timer: NodeJS.Timeout | undefined;
  let hasExited = false;
  const flush = (): void => {
    if (waiting !== '') output.write(waiting);
    waiting = '';
  };
  const scheduleFlush = (): void => {
    timer = setTimeout(() => {
      timer = undefined;
      if (waiting !== '') scheduleFlush();
      flush();
    }, WINDOW_MS).unref();
  };
  process.once('exit', () => {
    hasExited = true;
    flush();
  });
  const stream = new Writable({
    decodeStrings: false,
    write(line: string, _encoding, onWritten) {
      waiting += line;
      const isFirst = timer === undefined;
      if (isFirst || hasExited || waiting.length >= MOST_WAITING) flush();
      if (isFirst) scheduleFlush();
      onWritten();
    },
  });
  return { stream, flush };
}

/** Origins of pages that may call, such as that of a client in a browser. */
export interface OriginFlags {
  /** For the MCP endpoints. */
  readonly allowOrigin?: readonly string[];
  /** For the management API. */
  readonly allowApiOrigin?: readonly string[];
}
