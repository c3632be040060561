/** Returns type and subtype of a `Content-Type`, in lower case and without parameters. @see RFC 9110 section 8.3.1 */
export const mediaTypeOf = (header: string | readonly string[] | undefined): string =>
  (String(header ?? '').split(';', 1)[0] ?? '').trim().toLowerCase();
