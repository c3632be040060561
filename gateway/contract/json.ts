export type JsonObject = Readonly<Record<string, unknown>>;

/** Rejects null and arrays too. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
