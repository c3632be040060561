import { RequestError } from './request-error.ts';

/** Most parameters of a query or form, most cookies of a request, and most members of an object in a JSON body. */
export const MOST_PARAMETERS = 1_000;

/** Returns the refusal of a part of a request, such as its query, that has more parts than allowed. */
export function tooMany(path: string, parts: string, limit = MOST_PARAMETERS): RequestError {
  const message = `has more than ${String(limit)} ${parts}: send fewer`;
  return new RequestError({ kind: 'invalid_input', problems: [{ path, reason: 'too_many', message }] });
}

/** Returns true for a text with more parts than allowed. It counts separators, before anything is decoded or copied. */
export function hasTooMany(text: string, separator: string): boolean {
  let count = 1;
  for (let at = text.indexOf(separator); at !== -1; at = text.indexOf(separator, at + 1)) {
    count += 1;
    if (count > MOST_PARAMETERS) return true;
  }
  return false;
}

/** Returns the text of a query or form. Throws `RequestError` for too many parameters. */
export function counted(part: 'query' | 'form', encoded: string): string {
  if (hasTooMany(encoded, '&')) throw tooMany(part, 'parameters');
  return encoded;
}

/** Returns the values of each name in `application/x-www-form-urlencoded` text, in one pass. */
export function valuesByName(encoded: string): ReadonlyMap<string, readonly string[]> {
  const values = new Map<string, string[]>();
  for (const [name, value] of new URLSearchParams(encoded)) {
    const known = values.get(name);
    if (known) known.push(value);
    else values.set(name, [value]);
  }
  return values;
}
