import type { Catalog } from '../aggregation/catalog.ts';
import type { View } from '../aggregation/view.ts';

/** A view that goes on changing, as requests read it. */
export interface ReadableView {
  /** Always that of what the backends have said so far. */
  readonly current: View;
  /** Every backend has answered or was given the time to, so what the view lacks does not exist or is down. */
  readonly settled: boolean;
  /** A name that is in the view leads where it will always lead: with prefixes no other backend can claim it. */
  readonly certain: boolean;
  /** Resolves when `settled`, and after the default timeout anyway. */
  whenSettled(): Promise<void>;
  /** Resolves when `current` may be another one than before. */
  nextChange(): Promise<void>;
  /** What this backend offers. */
  catalog(backend: string): Catalog | undefined;
}

/** What `find` finds as soon as that is certain; undefined when it is not there once everything is known. */
export async function whenFound<T>(view: ReadableView, find: (view: View) => T | undefined): Promise<T | undefined> {
  const waiting = { isOver: false };
  const over = view.whenSettled().then(() => {
    waiting.isOver = true;
  });
  for (;;) {
    const found = view.certain ? find(view.current) : undefined;
    if (found !== undefined || waiting.isOver) return found ?? find(view.current);
    await Promise.race([over, view.nextChange()]);
  }
}
