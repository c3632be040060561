import { afterAll, onTestFinished } from 'vitest';

/** Where things that were started are handed in, to be stopped in reverse order. */
export interface Scope {
  defer(stop: () => unknown): void;
}

/** Ends with the running test. */
export const testScope = (): Scope => ({
  defer: (stop) => {
    onTestFinished(async () => void (await stop()));
  },
});

/** Ends with the `describe` block or file that calls it. */
export function blockScope(): Scope {
  const stops: (() => unknown)[] = [];
  afterAll(async () => {
    for (const stop of stops.splice(0).reverse()) await stop();
  });
  return { defer: (stop) => void stops.push(stop) };
}
