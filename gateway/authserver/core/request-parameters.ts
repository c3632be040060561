/** Parameters of a query or a form. */
export interface RequestParameters {
  /** The value; undefined when absent or empty, which RFC 6749 §3.1 makes the same. Of a duplicate, the first one. */
  one(name: string): string | undefined;
  /** All values that are not empty. */
  all(name: string): readonly string[];
  /** The first value of each name, of those that are not empty. */
  readonly firsts: ReadonlyMap<string, string>;
  /** Whether the name stands there more than once, values or not. */
  isDuplicated(name: string): boolean;
  /** Names that stand there more than once though they may not. RFC 8707 §2 allows several `resource`. */
  readonly duplicated: readonly string[];
}

const REPEATABLE = 'resource';

/** Reads `application/x-www-form-urlencoded` text: a query without `?`, or a body. */
export function parametersOf(encoded: string): RequestParameters {
  const values = new Map<string, string[]>();
  const firsts = new Map<string, string>();
  const repeated = new Set<string>();
  for (const [name, value] of new URLSearchParams(encoded)) {
    const known = values.get(name);
    if (known) {
      known.push(value);
      repeated.add(name);
    } else values.set(name, [value]);
    if (value !== '' && !firsts.has(name)) firsts.set(name, value);
  }
  return {
    one: (name) => firsts.get(name),
    all: (name) => (values.get(name) ?? []).filter((value) => value !== ''),
    firsts,
    isDuplicated: (name) => repeated.has(name),
    duplicated: [...values.keys()].filter((name) => name !== REPEATABLE && repeated.has(name)),
  };
}
