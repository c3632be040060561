export type JsonObject = Readonly<Record<string, unknown>>;

/** Rejects null and arrays too. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns the strings of a list; undefined for another value. */
export const textsIn = (value: unknown): string[] | undefined =>
  Array.isArray(value) ? value.filter((each) => typeof each === 'string') : undefined;

/** Returns the object in a JSON text; undefined for other values and for text that is not JSON. */
export function parseObject(text: string): JsonObject | undefined {
  try {
    const value = JSON.parse(text) as unknown;
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Returns true for '', 0, false, empty lists and objects, and objects of such values: they ask for nothing. */
export function asksForNothing(value: unknown): boolean {
  if (value === undefined || value === null || value === '' || value === 0 || value === false) return true;
  if (Array.isArray(value)) return value.length === 0;
  return typeof value === 'object' && Object.values(value).every(asksForNothing);
}
