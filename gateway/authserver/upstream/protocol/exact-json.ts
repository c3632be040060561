/** Digits of a number that may be beyond 2^53, where different numbers parse to the same value. */
const MANY_DIGITS = /\d{16}/u;
const WHOLE_NUMBER = /^-?\d+$/u;

/**
 * Parses JSON of a provider. Whole numbers beyond 2^53 become texts of their digits, so that different user ids stay
 * different. Throws `SyntaxError`.
 */
export const parseExactJson = (text: string): unknown =>
  JSON.parse(text, MANY_DIGITS.test(text) ? (exactValue as (key: string, value: unknown) => unknown) : undefined);

/** Converts one value. `source` is its text in the document, absent for objects and lists. */
function exactValue(_key: string, value: unknown, { source = '' }: { readonly source?: string }): unknown {
  return typeof value === 'number' && !Number.isSafeInteger(value) && WHOLE_NUMBER.test(source) ? source : value;
}
