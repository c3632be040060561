import type { Static, TSchema } from 'typebox';
import { parse } from 'yaml';
import { readDocument } from '../../gateway/contract/run-config/document.ts';

/** Parsed document, or its mistakes, each with the path in the document. */
export type ConfigMapDocument<Schema extends TSchema> =
  | { readonly config: Static<Schema> }
  | { readonly problems: readonly string[] };

/** Parses the text of a key of a ConfigMap, JSON or YAML, and checks it against a schema. Pure. */
export function parseConfigMapDocument<Schema extends TSchema>(
  schema: Schema,
  text: string,
): ConfigMapDocument<Schema> {
  let value: unknown;
  try {
    value = parse(text);
  } catch (error) {
    const [what = ''] = (error instanceof Error ? error.message : String(error)).split(/:?\n/u);
    return { problems: [`is neither JSON nor YAML: ${what}`] };
  }
  const read = readDocument(schema, value);
  return 'config' in read
    ? read
    : { problems: read.problems.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)) };
}

/** Names the document in messages. */
export const documentName = (name: string, key: string): string => `key "${key}" of ConfigMap "${name}"`;
