/** Metadata nests two deep; a key set four. */
const MAX_DEPTH = 16;

/** The members of a JSON object by name: `__proto__` is a name like others. undefined for anything else. */
export function parseJsonObject(text: string): ReadonlyMap<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || Array.isArray(value) || tooDeep(value)) return undefined;
    return new Map(Object.entries(value));
  } catch {
    return undefined;
  }
}

/** Level by level: recursion would follow a foreign depth. */
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
