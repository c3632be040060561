import { withMember } from '../../http/json-walk.ts';
import type { Aggregation } from '../../contract/gateway-config.ts';
import type { Catalog, ListItem } from './catalog.ts';
import { prefixOf } from './tool-names.ts';
import type { AdvertisedItem, Route } from './view.ts';
import { quote, type WarningCollector } from './warnings.ts';

/** An item under the key that clients see, with where it leads. */
export interface Served extends AdvertisedItem {
  readonly route: Route;
}

/** Puts an item under `advertised`, which is written into it where it differs. */
export function serve(backend: string, name: string, advertised: string, json: Buffer): Served {
  const renamed = name !== advertised;
  return {
    key: advertised,
    json: renamed ? withMember(json, { start: 0, end: json.length }, 'name', JSON.stringify(advertised)) : json,
    route: { backend, name, advertised, renamed, nameJson: Buffer.from(JSON.stringify(name)) },
  };
}

/** Resolves prompts with one name by rank, then by backend name: prompts have no overrides. */
export function servePrompts(catalogs: readonly Catalog[], rules: Aggregation, warnings: WarningCollector): Served[] {
  const order = rules.conflict_resolution === 'priority' ? (rules.priority_order ?? []) : [];
  const rank = (backend: string) => (order.includes(backend) ? order.indexOf(backend) : order.length);
  const ranked = [...catalogs].sort((left, right) => rank(left.backend) - rank(right.backend));
  const served = new Map<string, Served>();
  for (const { backend, prompts } of ranked) {
    const bare = rules.conflict_resolution === 'none' || order.includes(backend);
    const prefix = bare ? '' : prefixOf(rules, backend);
    for (const { key, json } of sorted(prompts)) {
      const name = prefix + key;
      const owner = served.get(name)?.route.backend;
      if (owner === undefined) served.set(name, serve(backend, key, name, json));
      else warnings.add('PromptNameClash', backend, clash('prompts', backend, owner, 'name'), name);
    }
  }
  return [...served.values()];
}

/**
 * Resources and templates: the URI is never rewritten, the first backend in sorted order has it. Templates that differ in
 * the names of their variables alone stand for the same URIs.
 */
export function serveUris(
  catalogs: readonly Catalog[],
  kind: 'resources' | 'templates',
  warnings: WarningCollector,
): Served[] {
  const served: Served[] = [];
  const owners = new Map<string, string>();
  for (const catalog of catalogs) {
    const { backend } = catalog;
    for (const { key, json } of sorted(catalog[kind])) {
      const space = kind === 'templates' ? withoutNames(key) : key;
      const owner = owners.get(space) ?? backend;
      owners.set(space, owner);
      if (owner === backend) served.push(serve(backend, key, key, json));
      else warnings.add('ResourceClash', backend, clash(kind, backend, owner, 'URI'), key);
    }
  }
  return served;
}

/** A URI template (RFC 6570) with `_` in place of names and lengths of variables. */
const withoutNames = (template: string): string =>
  template.replaceAll(/\{[^{}]*\}/g, (expression) => expression.replaceAll(/[A-Za-z0-9_.%]+/g, '_'));

const sorted = (items: readonly ListItem[]): ListItem[] =>
  [...items].sort((left, right) => (left.key < right.key ? -1 : 1));

const clash = (kind: string, backend: string, owner: string, what: string): string =>
  `${kind} of ${quote(backend)} are not served, because ${quote(owner)} has the same ${what}`;
