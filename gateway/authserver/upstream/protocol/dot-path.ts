const MAX_LENGTH = 256;
const MAX_DEPTH = 16;
const FORBIDDEN: ReadonlySet<string> = new Set(['__proto__', 'prototype', 'constructor']);
const ARRAY_INDEX = /^(?:0|[1-9]\d{0,4})$/u;

/** Returns the fault of a dot path; undefined for a valid one such as `authed_user.access_token` or `users.0.id`. */
export function pathFault(path: string): string | undefined {
  if (path.length > MAX_LENGTH) return `is longer than ${String(MAX_LENGTH)} characters`;
  const parts = path.split('.');
  if (parts.length > MAX_DEPTH) return `has more than ${String(MAX_DEPTH)} parts`;
  if (parts.includes('')) return 'has an empty part: write NAME.NAME';
  const forbidden = parts.find((part) => FORBIDDEN.has(part));
  return forbidden === undefined ? undefined : `goes through "${forbidden}", which no reply has as a member`;
}

/** Returns the value at a dot path. Reads only own members of objects and indexes of lists. */
export function valueAt(document: unknown, path: string): unknown {
  if (pathFault(path) !== undefined) return undefined;
  return path.split('.').reduce<unknown>(memberOf, document);
}

function memberOf(holder: unknown, part: string): unknown {
  if (typeof holder !== 'object' || holder === null) return undefined;
  if (Array.isArray(holder) && !ARRAY_INDEX.test(part)) return undefined;
  return Object.hasOwn(holder, part) ? (holder as Readonly<Record<string, unknown>>)[part] : undefined;
}
