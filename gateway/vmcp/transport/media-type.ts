/**
 * Returns type and subtype of a `Content-Type`, in lower case and without parameters, also of one that was sent twice.
 * @see RFC 9110 section 8.3.1
 */
export function mediaTypeOf(header: string | readonly string[] | undefined): string {
  const type = (String(header ?? '').split(';', 1)[0] ?? '').trim().toLowerCase();
  if (!type.includes(',')) return type;
  const [first = '', ...others] = type.split(',').map((each) => each.trim());
  return others.every((each) => each === first) ? first : type;
}
