import { isMap, isScalar, parseDocument, type Document } from 'yaml';
import type { ClientFile } from '../client-entry.ts';
import { entriesAt, placesIn } from './server-places.ts';

/** First keys of the servers of Goose, Continue and others. */
const KEYS = ['extensions', 'mcpServers', 'mcp'];

/** Reads the servers of a client's file in YAML; undefined for a text without these keys. */
export function readYamlFile(text: string): ClientFile | undefined {
  if (/^\s*(?:[{["]|\/[/*])/u.test(text)) return undefined;
  const document = parseDocument(text);
  const { contents, errors } = document;
  if (!isMap(contents) || !contents.items.some(({ key }) => isScalar(key) && KEYS.includes(String(key.value))))
    return undefined;
  const [error] = errors;
  if (error) {
    const line = error.linePos?.[0].line;
    return { fault: { ...(line !== undefined && { line }), message: `this is not YAML (${error.code})` } };
  }
  const root = valueOf(document);
  const places = placesIn(root, 'yaml');
  const entries = places.flatMap((place) => entriesAt(root, place));
  return entries.length > 0 ? { entries } : { fault: { message: 'its list of servers is empty' } };
}

/** Returns the document as data; undefined when its aliases expand too far. */
function valueOf(document: Document): unknown {
  try {
    return document.toJS();
  } catch {
    return undefined;
  }
}
