import { setTimeout as sleep } from 'node:timers/promises';
import { FetchFailure } from './json-get.ts';

/** Pauses before the second and third attempt, ms. */
export const RETRY_PAUSES_MS: readonly number[] = [500, 2_000];

/** Retries until success, a final failure or the last pause. Rejects with the last error. */
export async function withRetries<T>(attempt: () => Promise<T>, pausesMs: readonly number[]): Promise<T> {
  for (const pauseMs of pausesMs) {
    try {
      return await attempt();
    } catch (error) {
      if (error instanceof FetchFailure && error.final) throw error;
      await sleep(pauseMs, undefined, { ref: false });
    }
  }
  return attempt();
}

/** Waits for `flight` up to a limit, without stopping it. Resolves to false after the limit. */
export async function waitAtMost(flight: Promise<void>, limitMs: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, limitMs, false);
  });
  try {
    return await Promise.race([flight.then(() => true), limit]);
  } finally {
    clearTimeout(timer);
  }
}
