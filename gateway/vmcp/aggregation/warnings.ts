import type { Warning, WarningReason } from './view.ts';

const QUOTED_NAMES = 5;
const QUOTED_LENGTH = 80;

export interface WarningCollector {
  /** `cause` is a sentence without a full stop; `name` is the affected item, if it has a name. */
  add(reason: WarningReason, backend: string, cause: string, name?: string): void;
  /** In the order of first occurrence. */
  list(): Warning[];
}

/**
 * Combines warnings of equal reason, backend and cause, so that a long hostile list leads to few sentences. Further causes than
 * `most` are ignored.
 */
export function collectWarnings(most = Infinity): WarningCollector {
  const found = new Map<
    string,
    { reason: WarningReason; backend: string; cause: string; names: string[]; count: number }
  >();
  return {
    add(reason, backend, cause, name) {
      const key = JSON.stringify([reason, backend, cause]);
      const entry = found.get(key) ?? { reason, backend, cause, names: [], count: 0 };
      if (entry.count === 0 && found.size >= most) return;
      found.set(key, entry);
      entry.count += 1;
      if (name !== undefined && entry.names.length < QUOTED_NAMES) entry.names.push(quote(name));
    },
    list: () =>
      [...found.values()].map(({ reason, backend, cause, names, count }) => ({
        reason,
        backend,
        message: `${cause}${tail(names, count)}`,
      })),
  };
}

/** Returns a name as JSON text, so that a control character cannot forge a log line. */
export const quote = (name: string): string =>
  JSON.stringify(name.length > QUOTED_LENGTH ? `${name.slice(0, QUOTED_LENGTH)}…` : name);

function tail(names: readonly string[], count: number): string {
  if (names.length === 0) return count === 1 ? '' : ` (${String(count)} times)`;
  const more = count - names.length;
  return `: ${names.join(', ')}${more === 0 ? '' : ` and ${String(more)} more`}`;
}
