const KIB = 1024;
const MIB = 1024 * KIB;

/** Most bytes in use at the same time: by one principal, and by the whole process. */
export interface ByteLimits {
  readonly perPrincipal: number;
  readonly total: number;
}

/**
 * Sized for a pod of 768 MiB. The process needs about 150 MiB at rest. A counted request body exists once in memory, twice
 * on its way to a backend over stdio or HTTP+SSE; a counted reply exists up to three times while it is passed on. Garbage
 * that is not yet collected comes on top. Anonymous clients are one principal that cannot be told apart: for them
 * only `total` holds.
 */
export const BYTE_LIMITS = {
  /** Bodies of requests, from their first byte until no retry can need them. One body has at most 8 MiB. */
  request: { perPrincipal: 48 * MIB, total: 96 * MIB },
  /** Replies that are collected before they are passed on, and output that clients have not read. One reply has at most 32 MiB. */
  reply: { perPrincipal: 48 * MIB, total: 96 * MIB },
  /** URIs that sessions have subscribed to, with what the gateway keeps beside each. */
  subscriptions: { perPrincipal: 4 * MIB, total: 32 * MIB },
  /** Events kept for clients that come back; the events of a stream are dropped when this is used up. */
  kept: { perPrincipal: 16 * MIB, total: 64 * MIB },
} as const satisfies Readonly<Record<string, ByteLimits>>;

/** Bytes of unread and of kept output that are not counted per connection: the number of running calls bounds them. */
export const UNCOUNTED_OUTPUT_BYTES = 64 * KIB;

/** Bytes of an incomplete message from a backend that are not counted. */
export const UNCOUNTED_PARTIAL_BYTES = 256 * KIB;

/** Calls of one backend. Below the 128 connections of its pool, so that no call waits there without a limit. */
export const CALL_LIMITS = {
  running: 100,
  queued: 1_000,
  /** One principal leaves a fifth of the places, running and queued, to others. */
  runningPerPrincipal: 80,
  queuedPerPrincipal: 800,
} as const;

/** Event streams (GET) that sessions hold at one backend; sessions beyond try again after a while. */
export const STREAM_LIMITS = { total: 256, perPrincipal: 32 } as const;

/** Notifications and responses that one backend has not taken yet; more of them are dropped. */
export const MOST_UNSENT_MESSAGES = 1_000;

/** Time that a call runs on for a client whose resumable stream broke and who has not come back, ms. */
export const RESUME_WITHIN_MS = 300_000;

/** Clients are told to try again after so many seconds. */
export const RETRY_AFTER_SECONDS = 1;

/** Subscriptions of one session. */
export const SESSION_SUBSCRIPTIONS = { count: 1_000, bytes: 512 * KIB } as const;

/** Reasons of a refusal, and values of the label `budget` of `vmcp_budget_refusals_total`. */
export type Budget =
  | 'request_bytes'
  | 'reply_bytes'
  | 'unread_bytes'
  | 'kept_bytes'
  | 'subscriptions'
  | 'queued_calls'
  | 'streams'
  | 'connections';
