const MAX_LENGTH = 256;
const MAX_DEPTH = 16;
const FORBIDDEN: ReadonlySet<string> = new Set(['__proto__', 'prototype', 'constructor']);
const ARRAY_INDEX = /^(?:0|[1-9]\d{0,4})$/u;

/** Why no value can ever stand at a dot path such as `authed_user.access_token` or `users.0.id`; undefined: one can. */
export function pathFault(path: string): string | undefined {
  if (path.length > MAX_LENGTH) return `is longer than ${String(MAX_LENGTH)} characters`;
  const parts = path.split('.');
  if (parts.length > MAX_DEPTH) return `has more than ${String(MAX_DEPTH)} parts`;
  if (parts.includes('')) return 'has an empty part: write NAME.NAME';
  const forbidden = parts.find((part) => FORBIDDEN.has(part));
  return forbidden === undefined ? undefined : `goes through "${forbidden}", which is no member of any reply`;
}

/** The value at a dot path: own members of objects and indexes of lists only. */
export function valueAt(document: unknown, path: string): unknown {
  if (pathFault(path) !== undefined) return undefined;
  return path.split('.').reduce<unknown>(memberOf, document);
}

function memberOf(holder: unknown, part: string): unknown {
  if (typeof holder !== 'object' || holder === null) return undefined;
  if (Array.isArray(holder) && !ARRAY_INDEX.test(part)) return undefined;
  return Object.hasOwn(holder, part) ? (holder as Readonly<Record<string, unknown>>)[part] : undefined;
}
