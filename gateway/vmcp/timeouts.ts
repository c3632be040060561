import { durationMs } from '../contract/fields.ts';
import type { Operational } from '../contract/gateway-config.ts';
import { LONGEST_TIMER_MS } from '../kit/time.ts';

/** Returns the longest wait for the complete reply of one backend, in ms. */
export function replyTimeoutMs(
  { timeouts: { per_workload: own, default: usual } }: Operational,
  backend: string,
): number {
  const timeout = own !== undefined && Object.hasOwn(own, backend) ? own[backend] : undefined;
  return Math.min(durationMs(timeout ?? usual), LONGEST_TIMER_MS);
}

/**
 * Returns the longest wait for opening one backend, in ms. A call that opens the backend waits no longer than its own
 * timeout.
 */
export function initTimeoutMs(operational: Operational, backend: string): number {
  const replyMs = replyTimeoutMs(operational, backend);
  const { backend_init: limit } = operational.timeouts;
  return limit === undefined ? replyMs : Math.min(replyMs, durationMs(limit));
}
