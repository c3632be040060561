/** Size and speed of a token bucket. It starts full and is refilled continuously. */
export interface BucketLimit {
  /** Most tokens that it holds: the calls of a burst. */
  readonly maxTokens: number;
  /** Time in ms in which an empty bucket becomes full. */
  readonly periodMs: number;
}

/** Tokens of a bucket at a point in time, in ms of any clock. */
export interface Level {
  readonly tokens: number;
  readonly at: number;
}

/** Returns the tokens at `now`. A clock that went back adds none. */
export const tokensAt = ({ tokens, at }: Level, { maxTokens, periodMs }: BucketLimit, now: number): number =>
  Math.min(maxTokens, tokens + (Math.max(0, now - at) * maxTokens) / periodMs);

/** Returns the time in ms in which a bucket with less than one token gets the rest of it. */
export const msUntilToken = (tokens: number, { maxTokens, periodMs }: BucketLimit): number =>
  (Math.max(0, 1 - tokens) * periodMs) / maxTokens;

/** Returns the seconds that a client waits, rounded up: at least 1. */
export const retryAfterSeconds = (waitMs: number): number => Math.max(1, Math.ceil(waitMs / 1_000));
