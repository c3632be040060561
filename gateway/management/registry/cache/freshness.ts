const FRESH_MS = 3_600_000;
const STALE_MS = 7 * 86_400_000;
/** Pause after a failure, in which a stale reading is used without a further attempt. */
const REST_MS = 30_000;

/** Times of a cached reading, in ms since the epoch. */
export interface ReadingTimes {
  readonly readAt: number;
  /** Time of the last failed attempt to read again. */
  readonly failedAt?: number | undefined;
}

/** Returns true for a reading that is used without reading again. */
export function isFresh({ readAt, failedAt }: ReadingTimes, now: number): boolean {
  const isResting = failedAt !== undefined && now - failedAt < REST_MS;
  return isUsable({ readAt }, now) && (now - readAt < FRESH_MS || isResting);
}

/** Returns true for a reading that may stand in for a registry that cannot be read. */
export const isUsable = ({ readAt }: ReadingTimes, now: number): boolean => readAt <= now && now - readAt < STALE_MS;
