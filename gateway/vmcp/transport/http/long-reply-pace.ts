import { performance, type EventLoopUtilization } from 'node:perf_hooks';

/** Pause of a busy gateway, in ms. Pieces of 64 KiB make about 6 MB/s of it, so 100 MiB end within a call's 30 s. */
const LONGEST_PAUSE_MS = 10;
/** Time over which the utilization is averaged, in ms; after a longer gap the average says nothing about now. */
const WINDOW_MS = { shortest: 50, longest: 1_000 };

/**
 * Pauses between the pieces of long replies. They get the idle time of the event loop: a long reply can wait, the short
 * ones beside it cannot.
 * @param read reads the utilization of the event loop since the process started
 */
export function createLongReplyPace(read: () => EventLoopUtilization = () => performance.eventLoopUtilization()): {
  /** Pause before the next piece, in whole ms. */
  pauseMs(): number;
} {
  let since = read();
  let utilization = 1;
  return {
    pauseMs: () => {
      const now = read();
      const active = now.active - since.active;
      const window = active + now.idle - since.idle;
      if (window >= WINDOW_MS.shortest) {
        since = now;
        utilization = window > WINDOW_MS.longest ? 1 : active / window;
      }
      return Math.round(utilization * LONGEST_PAUSE_MS);
    },
  };
}
