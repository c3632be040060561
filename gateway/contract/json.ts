export type JsonObject = Readonly<Record<string, unknown>>;

/** Rejects null and arrays too. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns the object in a JSON text; undefined for other values and for text that is not JSON. */
export function parseObject(text: string): JsonObject | undefined {
  try {
    const value = JSON.parse(text) as unknown;
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
