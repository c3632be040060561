import { createHash } from 'node:crypto';

const HASH_DIGITS = 8;
/** Characters of the tail: `_` and the digits of the hash. */
const TAIL = HASH_DIGITS + 1;

/**
 * Returns the name that clients see of a tool: a name over `max` characters becomes its first `max` - 9, `_` and 8 hex digits of the
 * SHA-256 of the whole name. Depends on nothing else, so a name in a policy and the name of a tool always agree.
 */
export function shortToolName(name: string, max: number | undefined): string {
  if (max === undefined || name.length <= max) return name;
  return `${shortHead(name, max)}_${createHash('sha256').update(name).digest('hex').slice(0, HASH_DIGITS)}`;
}

/** Returns the start of `text` that names of up to `max` characters keep in any case. */
export const shortHead = (text: string, max = Infinity): string =>
  text.slice(0, Math.max(0, max - TAIL)).replace(/[\ud800-\udbff]$/, '');
