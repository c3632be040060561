import { isObject } from '../../../contract/json.ts';
import { jsonExcess } from '../../../http/endpoint/json-excess.ts';

/** Metadata has two levels, a key set four. */
const MAX_DEPTH = 16;

/**
 * Parses a JSON object into a map, where `__proto__` is an ordinary name. Returns undefined for any other text, and for too many
 * members or values.
 */
export function parseJsonObject(text: string): ReadonlyMap<string, unknown> | undefined {
  if (jsonExcess(text)) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    if (!isObject(value) || tooDeep(value)) return undefined;
    return new Map(Object.entries(value));
  } catch {
    return undefined;
  }
}

/** Checks level by level, since recursion on untrusted input could exhaust the stack. */
function tooDeep(root: object): boolean {
  let level: readonly unknown[] = [root];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > MAX_DEPTH) return true;
    level = level.flatMap((value): unknown[] =>
      typeof value === 'object' && value !== null ? Object.values(value) : [],
    );
  }
  return false;
}
