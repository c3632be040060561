import { valuesByName } from '../../http/endpoint/body-text.ts';

/** Parameters of a query or a form. */
export interface RequestParameters {
  /** Returns the first value; undefined when absent or empty, which RFC 6749 §3.1 treats alike. */
  one(name: string): string | undefined;
  /** Returns all values that are not empty. */
  all(name: string): readonly string[];
  /** First value of each name, without empty values. */
  readonly firsts: ReadonlyMap<string, string>;
  /** Returns true when the name occurs more than once, with or without values. */
  isDuplicated(name: string): boolean;
  /** Names that occur more than once. `resource` and `audience` are not listed: RFC 8707 §2 and RFC 8693 §2.1 allow several. */
  readonly duplicated: readonly string[];
}

const REPEATABLE: readonly string[] = ['resource', 'audience'];

/** Reads `application/x-www-form-urlencoded` text: a query without `?`, or a body. */
export function parseParameters(encoded: string): RequestParameters {
  const values = valuesByName(encoded);
  const firsts = new Map<string, string>();
  for (const [name, all] of values) {
    const first = all.find((value) => value !== '');
    if (first !== undefined) firsts.set(name, first);
  }
  const isDuplicated = (name: string): boolean => (values.get(name)?.length ?? 0) > 1;
  return {
    one: (name) => firsts.get(name),
    all: (name) => (values.get(name) ?? []).filter((value) => value !== ''),
    firsts,
    isDuplicated,
    duplicated: [...values.keys()].filter((name) => !REPEATABLE.includes(name) && isDuplicated(name)),
  };
}
