import { createHash } from 'node:crypto';
import { WIRE } from './read-catalog.ts';
import type { AdvertisedItem, AdvertisedList, PagedKind, View } from './view.ts';

export const PAGE_SIZE = 1000;
const MAX_CURSOR_LENGTH = 512;
/** Longest JSON text of the last key in a cursor of 512 base64url characters, in bytes. */
const MAX_CURSOR_KEY_BYTES = 280;

/** An invalid cursor, answered with -32602. */
export interface BadCursor {
  readonly reason: 'BadCursor';
  readonly message: string;
}

const BAD_CURSOR: BadCursor = {
  reason: 'BadCursor',
  message: 'the cursor does not belong to this list: list again without a cursor',
};

/**
 * Returns the JSON text of the `result` of one list request. The first page is prepared. A later page starts after the
 * last key of the page before, even when the list has changed since.
 */
export function listPage(view: View, kind: PagedKind, cursor?: string): Buffer | BadCursor {
  const list = view.lists[kind];
  if (cursor === undefined) return list.firstPage;
  const start = startOf(kind, list.items, cursor);
  return start === undefined ? BAD_CURSOR : renderPage(kind, list, start, view.unavailable);
}

/** Builds an advertised list from `items`, which are sorted by key, with digest and first page. */
export function advertisedList(
  kind: PagedKind,
  items: readonly AdvertisedItem[],
  unavailable: readonly string[],
): AdvertisedList {
  const digest = digestOf(items);
  return { items, digest, firstPage: renderPage(kind, { items, digest }, 0, unavailable) };
}

/**
 * Returns the digest of a list. It includes the length of each item, so that different lists never concatenate to the
 * same bytes.
 */
function digestOf(items: readonly AdvertisedItem[]): string {
  const hash = createHash('sha256');
  for (const { json } of items) hash.update(`${String(json.length)}:`).update(json);
  return hash.digest('hex').slice(0, 16);
}

/** Returns the JSON text of the page that starts at index `start`. */
function renderPage(
  kind: PagedKind,
  { items, digest }: Pick<AdvertisedList, 'items' | 'digest'>,
  start: number,
  unavailable: readonly string[],
): Buffer {
  const end = Math.min(start + PAGE_SIZE, items.length);
  const last = end < items.length ? items[end - 1] : undefined;
  const pieces: Buffer[] = [Buffer.from(`{"${WIRE[kind].list}":[`)];
  for (let index = start; index < end; index += 1) {
    if (index > start) pieces.push(COMMA);
    pieces.push((items[index] as AdvertisedItem).json);
  }
  const next = last ? `,"nextCursor":"${cursorBehind(kind, items, last.key, digest)}"` : '';
  const meta =
    unavailable.length === 0 ? '' : `,"_meta":{"vmcp.dev/unavailableBackends":${JSON.stringify(unavailable)}}`;
  pieces.push(Buffer.from(`]${next}${meta}}`));
  return Buffer.concat(pieces);
}

const COMMA = Buffer.from(',');

/**
 * Encodes `{k: kind, l: last key, d: digest}` as base64url. A long key is truncated, and `n` is then the number of
 * served items that start with the truncated key.
 */
function cursorBehind(kind: PagedKind, items: readonly AdvertisedItem[], key: string, d: string): string {
  const l = cut(key);
  const n = l === key ? undefined : indexBehind(items, key) - indexAt(items, l);
  return Buffer.from(JSON.stringify({ k: kind, l, d, n })).toString('base64url');
}

function cut(key: string): string {
  let length = Math.min(key.length, MAX_CURSOR_KEY_BYTES);
  while (Buffer.byteLength(JSON.stringify(key.slice(0, length))) > MAX_CURSOR_KEY_BYTES) length -= 1;
  return key.slice(0, length);
}

/** Returns the index of the first item after the cursor; undefined for an invalid cursor. */
function startOf(kind: PagedKind, items: readonly AdvertisedItem[], cursor: string): number | undefined {
  const { k, l, d, n } = decode(cursor);
  if (k !== kind || typeof l !== 'string' || typeof d !== 'string') return undefined;
  if (n === undefined) return indexBehind(items, l);
  return typeof n === 'number' && Number.isSafeInteger(n) && n > 0
    ? Math.min(indexAt(items, l) + n, items.length)
    : undefined;
}

function decode(cursor: string): Partial<Record<'k' | 'l' | 'd' | 'n', unknown>> {
  if (cursor.length > MAX_CURSOR_LENGTH) return {};
  const bytes = Buffer.from(cursor, 'base64url');
  if (bytes.toString('base64url') !== cursor) return {};
  try {
    return (JSON.parse(bytes.toString()) as object | null) ?? {};
  } catch {
    return {};
  }
}

const indexAt = (items: readonly AdvertisedItem[], key: string) => partition(items, (item) => item.key < key);
const indexBehind = (items: readonly AdvertisedItem[], key: string) => partition(items, (item) => item.key <= key);

/** Returns the number of leading items for which `before` is true. */
function partition(items: readonly AdvertisedItem[], before: (item: AdvertisedItem) => boolean): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (before(items[middle] as AdvertisedItem)) low = middle + 1;
    else high = middle;
  }
  return low;
}
