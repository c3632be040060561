import { withMember } from '../../http/json-walk.ts';
import type { ListItem } from './catalog.ts';
import { WIRE } from './read-catalog.ts';
import type { AdvertisedItem, ListKind, Route } from './view.ts';
import { quote } from './warnings.ts';

/** An item under the name that clients use, with its route. */
export interface Served extends AdvertisedItem {
  readonly route: Route;
}

/** Advertises an item as `advertised`, and replaces the name in its JSON text when it differs. */
export function serve(kind: ListKind, backend: string, name: string, advertised: string, original: Buffer): Served {
  const renamed = name !== advertised;
  const json = renamed
    ? withMember(original, { start: 0, end: original.length }, WIRE[kind].key, JSON.stringify(advertised))
    : original;
  return { key: advertised, json, route: { ...routeTo(kind, backend, name, advertised), json } };
}

/** Returns the route of an item that no list has. */
export const unlistedRoute = (backend: string, name: string, advertised: string): Route => ({
  ...routeTo('templates', backend, name, advertised),
  json: NO_ITEM,
});

const NO_ITEM = Buffer.from('{}');

const routeTo = (kind: ListKind, backend: string, name: string, advertised: string): Omit<Route, 'json'> => ({
  kind,
  backend,
  name,
  advertised,
  renamed: name !== advertised,
  nameJson: Buffer.from(JSON.stringify(name)),
});

export const routesOf = (items: readonly Served[]): Map<string, Route> =>
  new Map(items.map(({ key, route }): [string, Route] => [key, route]));

export const sorted = <Item extends ListItem>(items: readonly Item[]): Item[] =>
  [...items].sort((left, right) => (left.key < right.key ? -1 : 1));

export const clash = (kind: string, backend: string, owner: string, what: string): string =>
  `${kind} of ${quote(backend)} are not served, because ${quote(owner)} has the same ${what}`;
