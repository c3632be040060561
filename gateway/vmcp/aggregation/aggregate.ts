import type { Aggregation } from '../../contract/gateway-config.ts';
import { withMember } from '../../http/json-walk.ts';
import type { Catalog, ListItem } from './catalog.ts';
import { mergedExtensions } from './extensions.ts';
import { advertisedList } from './pages.ts';
import { skillServers } from './skills.ts';
import { nameTools, prefixOf, warnUnusualNames, type NamedTool } from './tool-names.ts';
import { applyToolRules, rulesByWorkload } from './tool-rules.ts';
import { parseUriTemplate } from './uri-template.ts';
import type {
  AdvertisedItem,
  AdvertisedList,
  AggregationResult,
  Conflict,
  ListKind,
  PagedKind,
  Route,
  TemplateRoute,
  ViewCapabilities,
} from './view.ts';
import { NOT_CACHED, strictest, type CacheHint } from './cache-hint.ts';
import { collectWarnings, quote, type WarningCollector } from './warnings.ts';
import { isObject } from '../../contract/json.ts';

/**
 * Aggregates the catalogs of one principal into one view. `unavailable` names the configured backends without a
 * catalog. The order of `catalogs` and of their items has no influence. Backend names are unique.
 */
export function aggregate(
  catalogs: readonly Catalog[],
  rules: Aggregation,
  unavailable: readonly string[],
): AggregationResult {
  const warnings = collectWarnings();
  const backends = [...catalogs].sort((left, right) => (left.backend < right.backend ? -1 : 1));
  const missing = [...new Set(unavailable)].sort();
  const { served, hidden, aliases, conflicts } = serveTools(backends, rules, missing, warnings);
  const prompts = servePrompts(backends, rules, warnings);
  const resources = serveUris(backends, 'resources', warnings);
  const templates = serveUris(backends, 'templates', warnings);
  return {
    view: {
      tools: new Map([...aliases, ...routesOf(served)]),
      hiddenTools: routesOf(hidden),
      prompts: routesOf(prompts),
      resources: routesOf(resources),
      templates: routesOf(templates),
      templateRoutes: templateRoutes(templates),
      skillServers: skillServers(backends),
      lists: {
        tools: list('tools', served, missing),
        resources: list('resources', resources, missing),
        templates: list('templates', templates, missing),
        prompts: list('prompts', prompts, missing),
        skills: list(
          'skills',
          backends.flatMap(({ skills = [] }) => skills),
          missing,
        ),
      },
      hints: {
        tools: hint('tools', backends, missing),
        resources: hint('resources', backends, missing),
        templates: hint('templates', backends, missing),
        prompts: hint('prompts', backends, missing),
        skills: hint('skills', backends, missing),
      },
      capabilities: capabilities(backends, served, prompts, [...resources, ...templates]),
      unavailable: missing,
    },
    conflicts,
    warnings: warnings.list(),
  };
}

/** Returns the strictest hint of all backends that list items of this kind. */
const hint = (kind: PagedKind, backends: readonly Catalog[], missing: readonly string[]): CacheHint =>
  strictest([
    ...backends.filter((each) => (each[kind]?.length ?? 0) > 0).map(({ hints }) => hints?.[kind] ?? NOT_CACHED),
    ...missing.map(() => NOT_CACHED),
  ]);

function serveTools(
  backends: readonly Catalog[],
  rules: Aggregation,
  unavailable: readonly string[],
  warnings: WarningCollector,
): { served: Served[]; hidden: Served[]; aliases: [string, Route][]; conflicts: readonly Conflict[] } {
  const byWorkload = rulesByWorkload(rules);
  const known = new Set([...backends.map((catalog) => catalog.backend), ...unavailable]);
  for (const workload of [...byWorkload.keys()].filter((name) => !known.has(name)))
    warnings.add(
      'UnknownWorkload',
      workload,
      `aggregation.tools has rules for ${quote(workload)}, which is no backend here`,
    );
  const all = backends.flatMap((catalog) => applyToolRules(catalog, rules, byWorkload.get(catalog.backend), warnings));
  const { tools, conflicts } = nameTools(all, rules, warnings);
  if (conflicts.length > 0) return { served: [], hidden: [], aliases: [], conflicts };
  warnUnusualNames(tools, warnings);
  const placed = tools.map((tool) => ({ tool, item: serveTool(tool) }));
  const shown = placed.filter(({ tool }) => !tool.hidden);
  return {
    served: shown.map(({ item }) => item),
    hidden: placed.filter(({ tool }) => tool.hidden).map(({ item }) => item),
    aliases: shown
      .filter(({ tool }) => tool.full !== tool.advertised)
      .map(({ tool, item }) => [tool.full, aliasRoute(tool, item.route)]),
    conflicts,
  };
}

const serveTool = ({ backend, original, advertised, json }: NamedTool): Served =>
  serve('tools', backend, original, advertised, json);

/**
 * Returns the route for the full name of a shortened tool. It replaces the name only when the backend has another one.
 */
const aliasRoute = ({ full, original }: NamedTool, route: Route): Route => ({ ...route, renamed: full !== original });

const routesOf = (items: readonly Served[]): Map<string, Route> =>
  new Map(items.map(({ key, route }): [string, Route] => [key, route]));

function templateRoutes(templates: readonly Served[]): TemplateRoute[] {
  return byKey(templates).flatMap(({ key, route }) => {
    const template = parseUriTemplate(key);
    return template ? [{ template, route }] : [];
  });
}

const list = (kind: PagedKind, served: readonly AdvertisedItem[], unavailable: readonly string[]): AdvertisedList =>
  advertisedList(
    kind,
    byKey(served).map(({ key, json }) => ({ key, json })),
    unavailable,
  );

const byKey = <Item extends AdvertisedItem>(items: readonly Item[]): Item[] =>
  [...items].sort((left, right) => (left.key < right.key ? -1 : 1));

function capabilities(
  backends: readonly Catalog[],
  tools: readonly Served[],
  prompts: readonly Served[],
  resources: readonly Served[],
): ViewCapabilities {
  const declared = (name: string) => backends.some(({ capabilities: each }) => isObject(each[name]));
  return {
    tools: tools.length > 0 || declared('tools'),
    prompts: prompts.length > 0 || declared('prompts'),
    resources: resources.length > 0 || declared('resources'),
    resourcesSubscribe: backends.some(
      ({ capabilities: { resources: each } }) => isObject(each) && each['subscribe'] === true,
    ),
    completions: declared('completions'),
    logging: declared('logging'),
    extensions: mergedExtensions(backends),
  };
}

/** An item under the name that clients use, with its route. */
interface Served extends AdvertisedItem {
  readonly route: Route;
}

/** Advertises an item as `advertised`, and replaces the name in its JSON text when it differs. */
function serve(kind: ListKind, backend: string, name: string, advertised: string, original: Buffer): Served {
  const renamed = name !== advertised;
  const json = renamed
    ? withMember(original, { start: 0, end: original.length }, 'name', JSON.stringify(advertised))
    : original;
  const nameJson = Buffer.from(JSON.stringify(name));
  return { key: advertised, json, route: { kind, backend, name, advertised, renamed, nameJson, json } };
}

/** Resolves prompts with one name by rank, then by backend name: prompts have no overrides. */
function servePrompts(catalogs: readonly Catalog[], rules: Aggregation, warnings: WarningCollector): Served[] {
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
      if (owner === undefined) served.set(name, serve('prompts', backend, key, name, json));
      else warnings.add('PromptNameClash', backend, clash('prompts', backend, owner, 'name'), name);
    }
  }
  return [...served.values()];
}

/**
 * Lists resources or templates. URIs are never rewritten; the first backend in sorted order serves a URI. Templates
 * that differ only in variable names count as equal.
 */
function serveUris(
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
      if (owner === backend) served.push(serve(kind, backend, key, key, json));
      else warnings.add('ResourceClash', backend, clash(kind, backend, owner, 'URI'), key);
    }
  }
  return served;
}

/** Returns a URI template (RFC 6570) with `_` in place of variable names and lengths. */
const withoutNames = (template: string): string =>
  template.replaceAll(/\{[^{}]*\}/g, (expression) => expression.replaceAll(/[A-Za-z0-9_.%]+/g, '_'));

const sorted = (items: readonly ListItem[]): ListItem[] =>
  [...items].sort((left, right) => (left.key < right.key ? -1 : 1));

const clash = (kind: string, backend: string, owner: string, what: string): string =>
  `${kind} of ${quote(backend)} are not served, because ${quote(owner)} has the same ${what}`;
