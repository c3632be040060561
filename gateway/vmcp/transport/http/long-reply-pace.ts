import { performance, type EventLoopUtilization } from 'node:perf_hooks';

/**
 * Pause of a busy gateway, in ms. Pieces of 64 KiB make about 6 MB/s, so that 100 MiB take less than the 30 s of a
 * call.
 */
const LONGEST_PAUSE_MS = 10;
/** Time over which the utilization is averaged, in ms. After a longer gap the average is outdated. */
const WINDOW_MS = { shortest: 50, longest: 1_000 };

/**
 * Creates the pauses between the pieces of long replies, which use the idle time of the event loop: a long reply can
 * wait, short ones cannot. @param read returns the utilization of the event loop since the process started
 */
export function createLongReplyPace(read: () => EventLoopUtilization = () => performance.eventLoopUtilization()): {
  /** Returns the pause before the next piece, in whole ms. */
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

/** Length above which a reply is paced. */
const LONG_BYTES = 4 * 1024 * 1024;
/** Length of a piece: one read of the connection. */
const PIECE_BYTES = 64 * 1024;
const pace = createLongReplyPace();

/**
 * Calls `turn(subject)` in a later turn of the event loop: for a long reply after a pause, which is longer after a piece that took
 * more time. Both are given as the bytes that take as long to read. @param cost of the reply so far
 */
export function inLaterTurn<T>(cost: number, pieceCost: number, turn: (subject: T) => void, subject: T): void {
  const pauseMs = cost < LONG_BYTES ? 0 : pace.pauseMs() * Math.max(1, Math.round(pieceCost / PIECE_BYTES));
  if (pauseMs === 0) setImmediate(turn, subject);
  else setTimeout(turn, pauseMs, subject);
}
