import type { Readable } from 'node:stream';
import type { Logger } from '../../contract/logger.ts';

export interface LineLimits {
  /** Longest line; longer ones are cut. */
  readonly maxLength: number;
  /** Lines reported per window. The rest is only counted. */
  readonly maxLines: number;
  readonly windowMs: number;
}

export interface LineListener {
  line(text: string): void;
  /** Reports the number of omitted lines of a window. */
  dropped?(count: number): void;
}

export const LOG_LIMITS: LineLimits = { maxLength: 2_000, maxLines: 200, windowMs: 10_000 };

/** Logs the lines that a workload writes outside of its protocol, and passes them to `onLine`. */
export const logLines = (
  log: Pick<Logger, 'warn' | 'info'>,
  workload: string,
  onLine?: (line: string) => void,
): LineListener => ({
  line: (line) => {
    onLine?.(line);
    log.info('workload output', { workload, line });
  },
  dropped: (lines) => {
    onLine?.(`[${String(lines)} lines were dropped: the server writes too fast]`);
    log.warn('workload output dropped', { workload, lines });
  },
});

/**
 * Reads `stream` to its end and reports its non-empty lines. Memory is bounded, and excess lines are read but not logged.
 */
export function readLines(stream: Readable, listener: LineListener, limits: LineLimits = LOG_LIMITS): void {
  const gate = rateGate(listener, limits);
  let rest = '';
  stream.setEncoding('utf8');
  stream.on('data', (chunk: string) => {
    const parts = chunk.split('\n');
    parts[0] = rest + (parts[0] ?? '');
    rest = (parts.pop() ?? '').slice(0, limits.maxLength);
    for (const part of parts) gate.pass(part.slice(0, limits.maxLength).trimEnd());
  });
  const finish = () => {
    gate.pass(rest.trimEnd());
    rest = '';
    gate.end();
  };
  stream.once('close', finish);
  stream.on('error', () => undefined);
}

function rateGate(listener: LineListener, { maxLines, windowMs }: LineLimits) {
  let count = 0;
  let window: NodeJS.Timeout | undefined;
  const endWindow = () => {
    const dropped = count - maxLines;
    count = 0;
    window = undefined;
    if (dropped > 0) listener.dropped?.(dropped);
  };
  return {
    pass(text: string): void {
      if (text === '') return;
      window ??= setTimeout(endWindow, windowMs).unref();
      count += 1;
      if (count <= maxLines) listener.line(text);
    },
    end(): void {
      clearTimeout(window);
      endWindow();
    },
  };
}
