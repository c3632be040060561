import { readFileSync } from 'node:fs';

const RECHECK_AFTER_MS = 1_000;

/** A file cannot be read. `message` is `FILE cannot be read (CODE)`. */
export class FileUnreadable extends Error {
  /** Error code of the system, such as ENOENT. */
  readonly code: string;
  constructor(path: string, cause: unknown) {
    const code = cause instanceof Error && 'code' in cause && typeof cause.code === 'string' ? cause.code : 'unknown';
    super(`${path} cannot be read (${code})`, { cause });
    this.name = 'FileUnreadable';
    this.code = code;
  }
}

/**
 * Current content of a small file, read at most once a second. Follows a mounted Secret through the
 * swap of its folder, and notices changes that keep size and time.
 */
export class WatchedFile {
  readonly path: string;
  readonly #now: () => number;
  #text: string | undefined;
  #readAt = 0;

  /** @param now ms on a monotonic clock. */
  constructor(path: string, now: () => number = () => performance.now()) {
    this.path = path;
    this.#now = now;
  }

  /**
   * Returns the content without one trailing line break; the same string object while it is unchanged.
   * @throws FileUnreadable
   */
  text(): string {
    const now = this.#now();
    if (this.#text !== undefined && now - this.#readAt < RECHECK_AFTER_MS) return this.#text;
    const text = this.#read();
    if (text !== this.#text) this.#text = text;
    this.#readAt = now;
    return this.#text;
  }

  #read(): string {
    try {
      return readFileSync(this.path, 'utf8').replace(/\r?\n$/u, '');
    } catch (error) {
      this.#text = undefined;
      throw new FileUnreadable(this.path, error);
    }
  }
}

const watched = new Map<string, WatchedFile>();

/**
 * `WatchedFile.text` of one reader per path in this process.
 * @throws FileUnreadable
 */
export function readSecretFile(path: string): string {
  let file = watched.get(path);
  if (!file) {
    file = new WatchedFile(path);
    watched.set(path, file);
  }
  return file.text();
}
