/** Returns true for '', 0, false, empty lists and objects, and objects of such values: they ask for nothing. */
export function asksForNothing(value: unknown): boolean {
  if (value === undefined || value === null || value === '' || value === 0 || value === false) return true;
  if (Array.isArray(value)) return value.length === 0;
  return typeof value === 'object' && Object.values(value).every(asksForNothing);
}
