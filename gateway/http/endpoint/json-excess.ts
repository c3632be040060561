import { MOST_PARAMETERS } from './encoded-parameters.ts';

/** Deepest level that is counted. Readers of bodies accept fewer, or as many. */
const MAX_DEPTH = 200;
const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Kind of the parts of which a JSON text has more than `limit`. */
interface Excess {
  readonly parts: string;
  readonly limit: number;
}

const MEMBERS: Excess = { parts: 'members in one object', limit: MOST_PARAMETERS };
const VALUES: Excess = { parts: 'values', limit: 10_000 };

/**
 * Returns the limit that a JSON text exceeds. It counts commas, before anything is parsed: a parsed value takes many times the time
 * and memory of its text. Text that is not JSON has any result.
 */
export function jsonExcess(text: string): Excess | undefined {
  const members = new Int32Array(MAX_DEPTH);
  let depth = -1;
  let values = 1;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === OPEN_OBJECT || code === OPEN_ARRAY) {
      depth += 1;
      if (depth === MAX_DEPTH) return undefined;
      members[depth] = code === OPEN_OBJECT ? 1 : -VALUES.limit;
    } else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) depth = Math.max(-1, depth - 1);
    else if (code === COMMA && depth >= 0) {
      values += 1;
      if (values > VALUES.limit) return VALUES;
      if ((members[depth] = (members[depth] ?? 0) + 1) > MEMBERS.limit) return MEMBERS;
    }
  }
  return undefined;
}

/** Returns the offset of the quote that ends the string at `at`. */
function endOfString(text: string, at: number): number {
  for (let end = at + 1; end < text.length; end += 1) {
    const code = text.charCodeAt(end);
    if (code === QUOTE) return end;
    if (code === BACKSLASH) end += 1;
  }
  return text.length;
}
