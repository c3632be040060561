const PREFIX = '=?base64?';
const SUFFIX = '?=';
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/u;
/** Characters that such a header may have. */
const VALID = /^[\t -~]*$/u;
/** Texts that a header may hold as they are: printable ASCII without space at its ends. */
const PLAIN = /^(?:[!-~](?:[ -~]*[!-~])?)?$/u;

/**
 * Returns the text of an `Mcp-Name` or `Mcp-Param-*` header: itself, or the UTF-8 text that it carries as Base64 between
 * `=?base64?` and `?=`. Returns undefined for broken Base64 and for characters outside of ASCII. @see MCP 2026-07-28, basic/transports, Value Encoding
 */
export function decodeHeaderValue(value: string): string | undefined {
  if (!value.startsWith(PREFIX) || !value.endsWith(SUFFIX)) return VALID.test(value) ? value : undefined;
  const text = value.slice(PREFIX.length, -SUFFIX.length);
  if (text.length % 4 !== 0 || !BASE64.test(text)) return undefined;
  const bytes = Buffer.from(text, 'base64');
  if (bytes.toString('base64') !== text) return undefined;
  const decoded = bytes.toString('utf8');
  return Buffer.from(decoded, 'utf8').equals(bytes) ? decoded : undefined;
}

/** Returns the value of an `Mcp-Name` or `Mcp-Param-*` header for a text. */
export const encodeHeaderValue = (text: string): string =>
  PLAIN.test(text) && !text.startsWith(PREFIX) ? text : `${PREFIX}${Buffer.from(text).toString('base64')}${SUFFIX}`;
