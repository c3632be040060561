/** Characters that change how a terminal or an editor shows the rest of a line. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
const MAX_LENGTH = 100;

/** Returns a text of somebody's file on one line, without characters that could forge output. */
export function oneLine(text: string): string {
  const line = text.replace(INVISIBLE, ' ');
  return line.length > MAX_LENGTH ? `${line.slice(0, MAX_LENGTH)}...` : line;
}

/** Credentials in a URL. */
const USER_INFO = /:\/\/[^/\s@]*@/gu;

/** Returns a text in quotes, on one line and without credentials. */
export const quoted = (text: string): string => `"${oneLine(text.replace(USER_INFO, '://...@'))}"`;
