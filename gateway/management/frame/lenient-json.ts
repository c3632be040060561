import type { TSchema } from 'typebox';
import { withDeclaredNames } from '../../http/declared-names.ts';
import { objectMembers, skipValue, skipWhitespace } from '../../http/json-walk.ts';

/**
 * Returns the first JSON value of a text in the shape of the schema, as lenient clients expect: a key counts in any case, null
 * counts as absent, and text after the value is ignored. Throws `SyntaxError`, and `ScanError` for values nested too deeply.
 */
export function parseLeniently(text: string, schema: TSchema): unknown {
  const bytes = Buffer.from(text);
  const end = skipValue(bytes, skipWhitespace(bytes, 0));
  return withDeclaredNames(JSON.parse(bytes.toString('utf8', 0, end)), schema);
}

/** Returns the JSON text of the member that `parseLeniently` finds under `name`; undefined for an absent one. */
export function lenientMember(text: string, name: string): Buffer | undefined {
  const bytes = Buffer.from(text);
  const start = skipWhitespace(bytes, 0);
  const members = [...objectMembers(bytes, { start, end: skipValue(bytes, start) })];
  const texts = members.flatMap(([key, span]) =>
    key.toLowerCase() === name ? [bytes.subarray(span.start, span.end)] : [],
  );
  return texts.findLast((member) => member.toString() !== 'null');
}
