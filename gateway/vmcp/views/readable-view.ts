import type { Catalog } from '../aggregation/catalog.ts';
import type { View } from '../aggregation/view.ts';

/** A view that changes over time, as requests read it. */
export interface ReadableView {
  /** The view of all catalogs received so far. */
  readonly current: View;
  /**
   * True when every backend has answered or has used up the time for it: a missing item does not exist or is
   * unavailable.
   */
  readonly settled: boolean;
  /** True when the routes in the view are final: with distinct prefixes no other backend can claim a name. */
  readonly certain: boolean;
  /** Resolves when `settled`, and after the default timeout at the latest. */
  whenSettled(): Promise<void>;
  /** Resolves when `current` may have changed. */
  nextChange(): Promise<void>;
  /** Returns the catalog of one backend. */
  catalog(backend: string): Catalog | undefined;
}

/**
 * Returns the result of `find` as soon as it is final; undefined when nothing is found after all backends have
 * answered, and after `again`, the end of a reading that may find it.
 */
export async function whenFound<T>(
  view: ReadableView,
  find: (view: View) => T | undefined,
  again?: Promise<unknown>,
): Promise<T | undefined> {
  const waiting = { isOver: false };
  const over = Promise.all([view.whenSettled(), again]).then(() => {
    waiting.isOver = true;
  });
  for (;;) {
    const found = view.certain ? find(view.current) : undefined;
    if (found !== undefined || waiting.isOver) return found ?? find(view.current);
    await Promise.race([over, view.nextChange()]);
  }
}
