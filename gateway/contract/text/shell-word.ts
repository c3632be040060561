/** Quotes a word for a POSIX shell if it needs quotes. */
export const shellWord = (text: string): string =>
  /^[\w./:@=,+-]+$/u.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
