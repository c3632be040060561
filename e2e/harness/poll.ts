import { setTimeout as sleep } from 'node:timers/promises';

export interface PollOptions {
  readonly timeoutMs?: number;
  readonly intervalMs?: number;
}

/** Usual wait for an effect. A start of several programs, or a limit that a test checks, has its own. */
export const PATIENCE_MS = 30_000;

/**
 * Calls `ask` until it returns something other than undefined and false, and returns that. A throw counts as "not yet".
 * @throws Error after `timeoutMs` (30,000), naming `what` and the last throw
 */
export async function eventually<T>(
  what: string,
  ask: () => T | Promise<T>,
  { timeoutMs = PATIENCE_MS, intervalMs = 50 }: PollOptions = {},
): Promise<Exclude<T, undefined | false>> {
  const deadline = Date.now() + timeoutMs;
  let cause: unknown;
  do {
    try {
      const answer = await ask();
      if (answer !== undefined && answer !== false) return answer as Exclude<T, undefined | false>;
      cause = undefined;
    } catch (error) {
      cause = error;
    }
    await sleep(intervalMs);
  } while (Date.now() < deadline);
  const last = cause instanceof Error ? `: ${cause.message}` : '';
  throw new Error(`not within ${timeoutMs} ms: ${what}${last}`, { cause });
}
