/** `JSON.parse` with the source text of each value, and its counterpart. @see ECMA-262, JSON.rawJSON */
interface SourceText {
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
  ): unknown;
  rawJSON(text: string): object;
  isRawJSON(value: unknown): boolean;
}
const json = JSON as unknown as SourceText;

/**
 * Parses JSON text and keeps the digits of each number that a double cannot represent, so that `JSON.stringify` writes
 * them as they came: 12345678901234567890, 1.0, 1e400.
 */
export const parseExactly = (text: string): unknown =>
  json.parse(text, (_, value, { source }) =>
    typeof value === 'number' && source !== undefined && source !== JSON.stringify(value)
      ? json.rawJSON(source)
      : value,
  );

/** Returns true for a number whose text is kept. */
export const isExactNumber = (value: unknown): boolean => json.isRawJSON(value);
