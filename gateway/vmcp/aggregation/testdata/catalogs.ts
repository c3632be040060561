import type { Aggregation } from '../../../contract/aggregation/aggregation.ts';
import type { Catalog, ListItem } from '../catalog.ts';
import { readItems, WIRE, type ReadItems } from '../read-catalog.ts';
import type { AdvertisedItem, ListKind, View } from '../view.ts';

type Listed = string | Readonly<Record<string, unknown>>;

export interface Offer {
  readonly tools?: readonly Listed[];
  readonly resources?: readonly Listed[];
  readonly templates?: readonly Listed[];
  readonly prompts?: readonly Listed[];
  readonly capabilities?: Readonly<Record<string, unknown>>;
}

/** Builds a catalog. A string is an item with that name or URI, and without what clients demand beside it. */
export function catalog(backend: string, offer: Offer): Catalog {
  const read = (kind: ListKind): ListItem[] => {
    const { key } = WIRE[kind];
    const items = (offer[kind] ?? []).map((item) => (typeof item === 'string' ? { [key]: item, from: backend } : item));
    return items.map((item) => ({ key: item[key] as string, json: Buffer.from(JSON.stringify(item)) }));
  };
  return {
    backend,
    tools: read('tools'),
    resources: read('resources'),
    templates: read('templates'),
    prompts: read('prompts'),
    capabilities: offer.capabilities ?? {},
  };
}

/** Reads the items of a list without pauses. */
export function itemsOf(...list: Parameters<typeof readItems>): ReadItems {
  const reading = readItems(...list);
  for (;;) {
    const { done, value } = reading.next();
    if (done === true) return value;
  }
}

export function rules(changes: Partial<Aggregation> = {}): Aggregation {
  return {
    conflict_resolution: 'prefix',
    prefix_format: '{workload}_',
    default_tool_visibility: 'allow',
    exclude_all_tools: false,
    ...changes,
  };
}

export const parse = (item: AdvertisedItem | undefined): Record<string, unknown> =>
  JSON.parse(item?.json.toString() ?? 'null') as Record<string, unknown>;

export const names = (view: View, kind: ListKind): string[] => view.lists[kind].items.map((item) => item.key);

/** `advertised -> backend/original`, in list order. */
export const routes = (view: View, kind: ListKind): string[] =>
  names(view, kind).map((name) => {
    const route = view[kind].get(name);
    return `${name} -> ${route?.backend ?? '?'}/${route?.name ?? '?'}`;
  });

/** Returns a reproducible random function with values in [0, 1). */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function shuffled<Item>(items: readonly Item[], random: () => number): Item[] {
  const result = [...items];
  for (let at = result.length - 1; at > 0; at -= 1) {
    const other = Math.floor(random() * (at + 1));
    [result[at], result[other]] = [result[other] as Item, result[at] as Item];
  }
  return result;
}
