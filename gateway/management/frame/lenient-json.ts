import type { TSchema } from 'typebox';
import { withDeclaredNames } from '../../http/declared-names.ts';
import { skipValue, skipWhitespace } from '../../http/json-walk.ts';

/**
 * Returns the first JSON value of a text in the shape of the schema, as lenient clients expect: a key counts in any case, null
 * counts as absent, and text after the value is ignored. Throws `SyntaxError`, and `ScanError` for values nested too deeply.
 */
export function parseLeniently(text: string, schema: TSchema): unknown {
  const bytes = Buffer.from(text);
  const end = skipValue(bytes, skipWhitespace(bytes, 0));
  return withDeclaredNames(JSON.parse(bytes.toString('utf8', 0, end)), schema);
}
