import { isObject } from '../../../gateway/contract/json.ts';

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

export const isTextList = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string');

/** Returns a map of texts; numbers and booleans count as texts. Undefined when a value is something else. */
export function textMap(value: unknown): ReadonlyMap<string, string> | undefined {
  if (value === undefined) return new Map();
  if (!isObject(value)) return undefined;
  const entries = Object.entries(value);
  const isText = (item: unknown): item is string | number | boolean =>
    typeof item === 'string' || typeof item === 'number' || typeof item === 'boolean';
  return entries.every(([, item]) => isText(item))
    ? new Map(entries.map(([name, item]) => [name, String(item)]))
    : undefined;
}

/** Returns the value without members that are null: most clients write null for an absent member. */
export function withoutNulls(value: unknown): unknown {
  if (!isObject(value)) return value;
  const members = Object.entries(value).filter(([, member]) => member !== null && member !== undefined);
  return Object.fromEntries(members.map(([name, member]) => [name, withoutNulls(member)]));
}
