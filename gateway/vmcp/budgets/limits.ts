const KIB = 1024;
const MIB = 1024 * KIB;

/** Most bytes in use at the same time, per principal and in total. */
export interface ByteLimits {
  readonly perPrincipal: number;
  readonly total: number;
}

/**
 * Sized for a pod of 768 MiB, of which the idle process needs about 150 MiB. A request body is in memory once, or twice
 * on its way to a backend over stdio or HTTP+SSE; a reply up to three times. Uncollected garbage comes on top.
 * Anonymous clients cannot be distinguished: for them only `total` applies.
 */
export const BYTE_LIMITS = {
  /** Request bodies, from the first byte until no retry needs them. A body has at most 8 MiB. */
  request: { perPrincipal: 48 * MIB, total: 96 * MIB },
  /**
   * Replies that are collected before they are forwarded, and output that clients have not read. A reply has at most 32
   * MiB.
   */
  reply: { perPrincipal: 48 * MIB, total: 96 * MIB },
  /** URIs of subscriptions and the data stored with each. */
  subscriptions: { perPrincipal: 4 * MIB, total: 32 * MIB },
  /** Events kept for reconnecting clients. A stream drops its events when the budget is exceeded. */
  kept: { perPrincipal: 16 * MIB, total: 64 * MIB },
} as const satisfies Readonly<Record<string, ByteLimits>>;

/** Unread or kept output up to this size is not counted; the number of running calls limits it. */
export const UNCOUNTED_OUTPUT_BYTES = 64 * KIB;

/** Incomplete messages of backends up to this size are not counted. */
export const UNCOUNTED_PARTIAL_BYTES = 256 * KIB;

/** Calls of one backend. Fewer than the 128 connections of its pool, so that no call waits there without a limit. */
export const CALL_LIMITS = {
  running: 100,
  queued: 1_000,
  /** Leaves a fifth of the capacity to other principals. */
  runningPerPrincipal: 80,
  queuedPerPrincipal: 800,
} as const;

/**
 * Calls in progress of one principal at all backends together: what it may run and queue at one backend, and some more.
 * The uncounted bytes of so many calls fit into the pod.
 */
export const CALLS_PER_PRINCIPAL = 1_000;

/** Returns the most processes of one principal where each session has a process: a fifth is left for others. */
export const processesPerPrincipal = (maxProcesses: number): number => Math.max(1, Math.floor(maxProcesses * 0.8));

/** Event streams (GET) of sessions at one backend. Sessions beyond the limit retry later. */
export const STREAM_LIMITS = { total: 256, perPrincipal: 32 } as const;

/** Most streams of clients for the tasks of one backend, beside its other streams. */
export const TASK_STREAM_LIMITS = { total: 128, perPrincipal: 16 } as const;

/** Most notifications and responses that wait for one backend; more are dropped. */
export const MAX_UNSENT_MESSAGES = 1_000;

/** Time in ms that a call keeps running for a client whose resumable stream broke. */
export const RESUME_WITHIN_MS = 300_000;

/** Seconds after which clients should retry. */
export const RETRY_AFTER_SECONDS = 1;

/** Most subscriptions of one session, and most bytes of their URIs. */
export const SESSION_SUBSCRIPTIONS = { count: 1_000, bytes: 512 * KIB } as const;

/** Reasons of a rejection, and values of the label `budget` of `vmcp_budget_refusals_total`. */
export type Budget =
  | 'request_bytes'
  | 'reply_bytes'
  | 'unread_bytes'
  | 'kept_bytes'
  | 'subscriptions'
  | 'queued_calls'
  | 'calls'
  | 'streams'
  | 'processes'
  | 'sessions'
  | 'connections';
