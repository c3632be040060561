import { AsyncLocalStorage } from 'node:async_hooks';
import { afterAll, beforeAll, onTestFailed, onTestFinished, type TestContext } from 'vitest';

/** Stop functions of a test or a block, called in reverse order at its end. */
export interface Scope {
  defer(stop: () => unknown): void;
}

/** The test that runs the calling code: those of `describe.concurrent` run at the same time, which vitest's own does not know. */
export const runningTest = new AsyncLocalStorage<Pick<TestContext, 'onTestFailed' | 'onTestFinished'>>();
const test = () => runningTest.getStore() ?? { onTestFailed, onTestFinished };

/** Returns a scope that ends with the running test. */
export const testScope = (): Scope => ({
  defer: (stop) => {
    test().onTestFinished(async () => {
      await stop();
    });
  },
});

/** Prints what `output` returns when the running test fails. */
export function printOnFailure(output: () => string): void {
  test().onTestFailed(() => {
    console.error(output());
  });
}

/** Returns a scope that ends with the `describe` block or file that calls it. */
export function blockScope(): Scope {
  const stops: (() => unknown)[] = [];
  afterAll(async () => {
    const failures: unknown[] = [];
    for (const stop of stops.splice(0).reverse()) {
      try {
        await stop();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, 'not everything could be stopped');
  });
  return { defer: (stop) => void stops.push(stop) };
}

/**
 * Starts a scenario that mostly waits before the first test of a block or file, and returns the test that awaits its end.
 * Make it the last test: the others run meanwhile.
 */
export function beside(run: (scope: Scope) => Promise<void>): () => Promise<void> {
  const scope = blockScope();
  let ended: Promise<void> | undefined;
  beforeAll(() => {
    ended = run(scope);
    ended.catch(() => undefined); // reported by the test
  });
  return () => ended ?? Promise.reject(new Error('the scenario was not started'));
}
