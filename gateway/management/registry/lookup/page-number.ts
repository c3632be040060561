/** Returns the number of a page. Any text that is not a positive whole number means page 1. */
export function pageNumber(text: string | undefined): number {
  const page = wholeNumber(text);
  return page !== undefined && page >= 1 ? page : 1;
}

/** Returns the length of a page, at most `max`. Any text that is not a positive whole number means `fallback`. */
export function pageLength(text: string | undefined, fallback: number, max: number): number {
  const limit = wholeNumber(text);
  return limit !== undefined && limit >= 1 ? Math.min(limit, max) : fallback;
}

const wholeNumber = (text: string | undefined): number | undefined =>
  text !== undefined && /^[+-]?\d{1,15}$/u.test(text) ? Number(text) : undefined;
