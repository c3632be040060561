/** Size and speed of a token bucket. It starts full and is refilled continuously. */
export interface BucketLimit {
  /** Most tokens that it holds: the calls of a burst. */
  readonly maxTokens: number;
  /** Time in ms in which an empty bucket becomes full. */
  readonly periodMs: number;
}

/** Tokens of a bucket at a point in time, in ms of any clock. */
interface Level {
  readonly tokens: number;
  readonly at: number;
}

/** Returns the tokens at `now`. A clock that went back adds no token. */
export const tokensAt = ({ tokens, at }: Level, { maxTokens, periodMs }: BucketLimit, now: number): number =>
  Math.min(maxTokens, tokens + (Math.max(0, now - at) * maxTokens) / periodMs);

/** Returns the time in ms in which a bucket with less than one token gets the rest of it. */
export const msUntilToken = (tokens: number, { maxTokens, periodMs }: BucketLimit): number =>
  (Math.max(0, 1 - tokens) * periodMs) / maxTokens;

/** Returns the seconds that a client waits, rounded up: at least 1. */
export const retryAfterSeconds = (waitMs: number): number => Math.max(1, Math.ceil(waitMs / 1_000));

/** Calls that a bucket counts: all calls, those of one tool, those of one user, or those of one user and tool. */
export const SCOPES = ['shared', 'tool', 'user', 'user_tool'] as const;
export type BucketScope = (typeof SCOPES)[number];

/** A bucket that a call needs a token of. */
export interface BucketUse {
  readonly scope: BucketScope;
  /** Name of the bucket, unique within its virtual server. */
  readonly key: string;
  readonly limit: BucketLimit;
}

/** Buckets of the calls of one tool, or of all tools without limits of their own. */
export interface BucketPlan {
  /** Scopes of its buckets, in the order in which they are checked. */
  readonly scopes: readonly BucketScope[];
  /** Returns a name that two calls share only if they need the same buckets. */
  idOf(principal: string): string;
  /** Returns the buckets of a call, in the order in which they are checked. */
  usesOf(principal: string): readonly BucketUse[];
}

/** Outcome of taking one token of each bucket. `scope` is that of the first empty bucket. */
export type Taken =
  | { readonly kind: 'taken' }
  | { readonly kind: 'empty'; readonly scope: BucketScope; readonly waitMs: number }
  | { readonly kind: 'unavailable' };

export const TAKEN: Taken = Object.freeze({ kind: 'taken' });
export const UNAVAILABLE: Taken = Object.freeze({ kind: 'unavailable' });

/** Token buckets of one virtual server. */
export interface Buckets {
  /** Takes one token of every bucket of the plan, or none. Never throws and never rejects. */
  take(plan: BucketPlan, principal: string): Taken | Promise<Taken>;
}

/** Receiver of the decisions of rate limits, and of the failures of their store. */
export interface RateLimitObserver {
  decided(scope: BucketScope, allowed: boolean): void;
  /** A call passed although the store was unavailable. */
  failedOpen(): void;
  storeFailed(): void;
  /** Time that the store took to answer. */
  storeAnswered(durationMs: number): void;
}
