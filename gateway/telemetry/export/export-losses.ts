import type { Logger } from '../../contract/logger.ts';
import type { Signal } from './otlp-sender.ts';

const LOG_EVERY_MS = 60_000;

export interface ExportLossesOptions {
  readonly log: Pick<Logger, 'warn'>;
  /** ms since the epoch. */
  readonly now: () => number;
  /** Counts spans or metric exports that did not reach the collector. */
  readonly onDropped: (signal: Signal, count: number) => void;
}

/** Counts what does not reach the collector, and logs it at most once a minute. */
export class ExportLosses {
  readonly #options: ExportLossesOptions;
  #loggedAt = -Infinity;
  #unlogged = 0;

  constructor(options: ExportLossesOptions) {
    this.#options = options;
  }

  dropped(signal: Signal, count: number, reason: string): void {
    const { log, now, onDropped } = this.#options;
    onDropped(signal, count);
    this.#unlogged += count;
    if (now() - this.#loggedAt < LOG_EVERY_MS) return;
    this.#loggedAt = now();
    log.warn('telemetry was not exported', { signal, reason, dropped: this.#unlogged });
    this.#unlogged = 0;
  }
}
