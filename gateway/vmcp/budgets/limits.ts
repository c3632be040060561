const KIB = 1024;
const MIB = 1024 * KIB;

/** Most bytes in use at the same time: by one principal, and by the whole process. */
export interface ByteLimits {
  readonly perPrincipal: number;
  readonly total: number;
}

/**
 * Sized for a pod of 768 MiB. Anonymous clients are one principal that cannot be told apart: for them only `total` holds.
 */
export const BYTE_LIMITS = {
  /** URIs that sessions have subscribed to, with what the gateway keeps beside each. */
  subscriptions: { perPrincipal: 4 * MIB, total: 32 * MIB },
} as const satisfies Readonly<Record<string, ByteLimits>>;

/** Subscriptions of one session. */
export const SESSION_SUBSCRIPTIONS = { count: 1_000, bytes: 512 * KIB } as const;

/** Reasons of a refusal, and values of the label `budget` of `vmcp_budget_refusals_total`. */
export type Budget = 'subscriptions';
