import { once } from 'node:events';
import type { Request, Response } from 'express';

const TEXT = 'text/plain; charset=utf-8';
const EVENTS = 'text/event-stream';
/** Interval of comments in an event stream, so that proxies keep it open. */
const HEARTBEAT_MS = 15_000;

/** Sends lines as text. */
export function sendLines(res: Response, lines: readonly string[]): void {
  res.setHeader('content-type', TEXT).end(lines.map((line) => `${line}\n`).join(''));
}

/**
 * Sends lines as they come: as an event stream (WHATWG HTML, server-sent events) if the client accepts it, else as chunks of text.
 * Reads the next line when the client has read the previous ones. Returns when the lines end or `signal` is aborted.
 */
export async function streamLines(
  req: Request,
  res: Response,
  lines: AsyncIterable<string>,
  signal: AbortSignal,
): Promise<void> {
  const isEvents = req.accepts(['text/plain', EVENTS]) === EVENTS;
  const encode = isEvents ? eventOf : (line: string): string => `${line}\n`;
  res
    .status(200)
    .setHeader('content-type', isEvents ? EVENTS : TEXT)
    .setHeader('x-accel-buffering', 'no')
    .flushHeaders();
  const beat = (): void => {
    if (!res.writableNeedDrain) res.write(':\n\n');
  };
  const heartbeat = isEvents ? setInterval(beat, HEARTBEAT_MS) : undefined;
  try {
    for await (const line of lines) {
      if (signal.aborted) break;
      if (!res.write(encode(line))) await once(res, 'drain', { signal });
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    clearInterval(heartbeat);
  }
  res.end();
}

/** Returns the event of a line. A carriage return, which would end the field, starts another one. */
const eventOf = (line: string): string =>
  `${line
    .split(/\r\n?|\n/u)
    .map((part) => `data: ${part}\n`)
    .join('')}\n`;
