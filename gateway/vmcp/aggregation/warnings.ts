import type { Warning, WarningReason } from './view.ts';

const QUOTED_NAMES = 5;
const QUOTED_LENGTH = 80;

export interface WarningCollector {
  /** `cause` is a sentence without its full stop; `name` is what it happened to, if that has a name. */
  add(reason: WarningReason, backend: string, cause: string, name?: string): void;
  /** In the order in which the causes were first met. */
  list(): Warning[];
}

/** Joins warnings of equal reason, backend and cause: a hostile list of any length yields a few sentences. */
export function collectWarnings(): WarningCollector {
  const found = new Map<
    string,
    { reason: WarningReason; backend: string; cause: string; names: string[]; count: number }
  >();
  return {
    add(reason, backend, cause, name) {
      const key = JSON.stringify([reason, backend, cause]);
      const entry = found.get(key) ?? { reason, backend, cause, names: [], count: 0 };
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

/** A name as JSON text, so that a control character cannot forge a line of the log. */
export const quote = (name: string): string =>
  JSON.stringify(name.length > QUOTED_LENGTH ? `${name.slice(0, QUOTED_LENGTH)}…` : name);

function tail(names: readonly string[], count: number): string {
  if (names.length === 0) return count === 1 ? '' : ` (${String(count)} times)`;
  const more = count - names.length;
  return `: ${names.join(', ')}${more === 0 ? '' : ` and ${String(more)} more`}`;
}
