import { Writable } from 'node:stream';
import type { WriteStream } from 'node:tty';
import { LOG_LEVELS, type LogFormat, type LogLevel } from '../../gateway/contract/logger.ts';
import { createLog, type RootLog } from '../../gateway/telemetry/log.ts';
import { collectedLines } from './collected-lines.ts';

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
