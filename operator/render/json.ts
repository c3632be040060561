export type JsonObject = Readonly<Record<string, unknown>>;

export type NamedObject = JsonObject & { readonly name: string };

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
