import { isObject, type JsonObject } from '../../../contract/json.ts';

/** Most steps of a JSON pointer, and most references in a chain. */
const MOST_STEPS = 32;

/** Returns the schema at a local reference, also through others. Returns undefined for an anchor, and for
 * another document. @see RFC 6901 §6 */
export function resolveRef(ref: string, root: JsonObject): unknown {
  let at = pointed(ref, root);
  for (let steps = 0; steps < MOST_STEPS; steps += 1) {
    if (!isObject(at) || typeof at['$ref'] !== 'string' || Object.keys(at).length > 1) return at;
    at = pointed(at['$ref'], root);
  }
  return undefined;
}

function pointed(ref: string, root: JsonObject): unknown {
  if (ref === '#') return root;
  if (!ref.startsWith('#/')) return undefined;
  return decoded(ref.slice(2))
    .split('/', MOST_STEPS)
    .reduce<unknown>((at, step) => {
      const key = step.replaceAll('~1', '/').replaceAll('~0', '~');
      return typeof at === 'object' && at !== null && Object.hasOwn(at, key)
        ? (at as Record<string, unknown>)[key]
        : undefined;
    }, root);
}

function decoded(pointer: string): string {
  try {
    return decodeURIComponent(pointer);
  } catch {
    return pointer;
  }
}
