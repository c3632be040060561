import type { RootLog } from './log.ts';

/** Lines for each kind of refusal in `WINDOW_MS`. */
export const MAX_LINES = 20;
const WINDOW_MS = 10_000;

export interface RefusalLine {
  /** Limits the lines: one of a few words, nothing that a client chooses. */
  readonly kind: string;
  readonly level: 'info' | 'warn';
  readonly message: string;
  readonly facts: Readonly<Record<string, unknown>>;
}

interface Window {
  lines: number;
  suppressed: number;
}

/**
 * Logs refusals one by one, up to `MAX_LINES` of a kind in 10 s, and then how many were left out: strangers can cause as
 * many as they like. At debug level every one is logged.
 */
export class RefusalLog {
  readonly #log: Pick<RootLog, 'warn' | 'info' | 'isLevelEnabled'>;
  readonly #windowMs: number;
  readonly #windows = new Map<string, Window>();

  constructor(log: Pick<RootLog, 'warn' | 'info' | 'isLevelEnabled'>, windowMs = WINDOW_MS) {
    this.#log = log;
    this.#windowMs = windowMs;
  }

  write(line: RefusalLine): void {
    const window = this.#windows.get(line.kind) ?? this.#open(line);
    if (window.lines < MAX_LINES || this.#log.isLevelEnabled('debug')) {
      window.lines += 1;
      this.#log[line.level](line.message, line.facts);
    } else window.suppressed += 1;
  }

  #open({ kind, level }: RefusalLine): Window {
    const window: Window = { lines: 0, suppressed: 0 };
    this.#windows.set(kind, window);
    setTimeout(() => {
      this.#windows.delete(kind);
      const { suppressed } = window;
      if (suppressed > 0) this.#log[level]('refusals left out of the log', { kind, count: suppressed });
    }, this.#windowMs).unref();
    return window;
  }
}
