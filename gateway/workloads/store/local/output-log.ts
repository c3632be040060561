import {
  createWriteStream,
  mkdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  type WriteStream,
} from 'node:fs';
import { dirname } from 'node:path';
import type { WorkloadLogOptions } from '../../workloads.ts';
import { LOG_LEVELS, type Logger, type LogLevel } from '../../../contract/logger.ts';

interface Line {
  /** Epoch ms. */
  readonly at: number;
  readonly text: string;
}

/** Lines kept in memory, which is also the most that a reader gets. */
const KEPT_LINES = 1_000;
/** Size at which the file is renamed to `FILE.1`, which replaces an older one. */
const ROTATE_BYTES = 1024 * 1024;
/** Lines that a slow follower may leave unread; then it gets a note instead of older lines. */
const UNREAD_LINES = 1_000;

/** Output of one workload: in memory for readers, and in a file that survives a restart. Each line starts with its time. */
export class OutputLog {
  readonly #path: string;
  readonly #now: () => number;
  readonly #lines: Line[];
  readonly #followers = new Set<(line: Line) => void>();
  #file: WriteStream | undefined;
  readonly #onClose = new Set<() => void>();
  #bytes = 0;
  #isClosed = false;

  constructor(path: string, now: () => number) {
    this.#path = path;
    this.#now = now;
    this.#lines = earlierLines(path);
  }

  append(text: string): void {
    const line = { at: this.#now(), text };
    this.#lines.push(line);
    if (this.#lines.length > KEPT_LINES) this.#lines.shift();
    for (const follow of this.#followers) follow(line);
    const written = `${format(line)}\n`;
    this.#open()?.write(written);
    this.#bytes += Buffer.byteLength(written);
    if (this.#bytes > ROTATE_BYTES) this.#rotate();
  }

  read({ tail, since = 0 }: WorkloadLogOptions): string[] {
    if (tail <= 0) return [];
    return this.#lines
      .filter(({ at }) => at >= since)
      .slice(-tail)
      .map(format);
  }

  /** Yields the last lines, then each new one, until `signal` is aborted or the log is closed. */
  async *follow(options: WorkloadLogOptions, signal: AbortSignal): AsyncGenerator<string> {
    const queue: string[] = this.read(options);
    let dropped = 0;
    let wake: () => void = () => undefined;
    const add = (line: Line): void => {
      if (queue.length < UNREAD_LINES) queue.push(format(line));
      else dropped += 1;
      wake();
    };
    const onAbort = (): void => {
      wake();
    };
    this.#followers.add(add);
    this.#onClose.add(onAbort);
    signal.addEventListener('abort', onAbort);
    try {
      while (!signal.aborted && !this.#isClosed) {
        const next = queue.shift();
        if (next !== undefined) yield next;
        else if (dropped > 0) {
          yield `[${String(dropped)} lines were dropped: the reader is too slow]`;
          dropped = 0;
        } else await new Promise<void>((resolve) => (wake = resolve));
      }
    } finally {
      this.#followers.delete(add);
      this.#onClose.delete(onAbort);
      signal.removeEventListener('abort', onAbort);
    }
  }

  /** Ends the file and all followers. */
  close(): void {
    this.#isClosed = true;
    for (const end of this.#onClose) end();
    this.#endFile();
  }

  remove(): void {
    this.close();
    for (const path of [this.#path, `${this.#path}.1`]) rmSync(path, { force: true });
    try {
      rmdirSync(dirname(this.#path));
    } catch {
      // the other log of the workload is still there, or nothing was ever written
    }
  }

  /** Returns undefined while the file cannot be written: a full disk ends the file, not the workload. */
  #open(): WriteStream | undefined {
    if (this.#file) return this.#file;
    try {
      mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 });
    } catch {
      return undefined;
    }
    this.#bytes = statSync(this.#path, { throwIfNoEntry: false })?.size ?? 0;
    const file = createWriteStream(this.#path, { flags: 'a', mode: 0o600 });
    this.#file = file;
    file.on('error', () => {
      if (this.#file === file) this.#file = undefined; // the next line tries again
    });
    return file;
  }

  #endFile(): void {
    this.#file?.end();
    this.#file = undefined;
  }

  #rotate(): void {
    this.#endFile();
    this.#bytes = 0;
    try {
      renameSync(this.#path, `${this.#path}.1`);
    } catch {
      // the file could not be written before either
    }
  }
}

const format = ({ at, text }: Line): string => `${new Date(at).toISOString()} ${text}`;

function earlierLines(path: string): Line[] {
  try {
    const lines = readFileSync(path, 'utf8')
      .split('\n')
      .slice(-KEPT_LINES - 1, -1);
    return lines.map((line) => ({ at: Date.parse(line.slice(0, 24)) || 0, text: line.slice(25) }));
  } catch {
    return [];
  }
}

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
