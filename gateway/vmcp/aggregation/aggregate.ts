import type { Aggregation } from '../../contract/aggregation/aggregation.ts';
import { withAdvertisedApp } from './resources/apps.ts';
import type { Catalog } from './catalog.ts';
import { mergedExtensions, unservedCapabilities } from './extensions.ts';
import { mergeInstructions } from './instructions.ts';
import { advertisedList } from './pages.ts';
import { serveResources, type ServedResources } from './resources/serve-resources.ts';
import { clash, routesOf, serve, sorted, type Served } from './served.ts';
import { serveSkills } from './resources/skills.ts';
import { nameTools, prefixOf, warnUnusualNames, type NamedTool } from './tool-names.ts';
import { applyToolRules, rulesByWorkload } from './tool-rules.ts';
import { parseUriTemplate } from './uri-template.ts';
import type {
  Advice,
  AdvertisedItem,
  AdvertisedList,
  AggregationResult,
  Conflict,
  PagedKind,
  Route,
  TemplateRoute,
  ViewCapabilities,
} from './view.ts';
import { NOT_CACHED, strictest, type CacheHint } from './cache-hint.ts';
import { modelAdvice } from './portability/model-advice.ts';
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
  const { resources, templates, routes, advertise } = serveResources(backends, missing, warnings);
  const { served, hidden, aliases, conflicts, advice } = serveTools(backends, rules, missing, advertise, warnings);
  const prompts = servePrompts(backends, rules, warnings);
  const skills = serveSkills(backends, warnings);
  const shown = { tools: served, resources, templates, prompts, skills: skills.items };
  const usable = usableBackends(backends, [...served, ...resources, ...templates, ...prompts]);
  const names = new Set([...backends.map(({ backend }) => backend), ...missing]);
  const instructions = mergeInstructions(usable, names, rules, warnings);
  warnUnserved(backends, warnings);
  return {
    view: {
      tools: new Map([...aliases, ...routesOf(served)]),
      hiddenTools: routesOf(hidden),
      prompts: routesOf(prompts),
      resources: routes,
      templates: routesOf(templates),
      templateRoutes: templateRoutes(templates),
      skillServers: skills.servers,
      lists: byKind((kind) => list(kind, shown[kind], missing)),
      hints: byKind((kind) => hint(kind, backends, missing)),
      capabilities: capabilities(backends, served, prompts, [...resources, ...templates]),
      instructions,
      unavailable: missing,
    },
    conflicts,
    warnings: [...warnings.list(), ...backends.flatMap((each) => each.warnings ?? [])],
    advice,
  };
}

const byKind = <Value>(valueOf: (kind: PagedKind) => Value): Readonly<Record<PagedKind, Value>> => ({
  tools: valueOf('tools'),
  resources: valueOf('resources'),
  templates: valueOf('templates'),
  prompts: valueOf('prompts'),
  skills: valueOf('skills'),
});

/** Returns the backends of which clients see anything, and those that list nothing. */
function usableBackends(backends: readonly Catalog[], shown: readonly Served[]): Catalog[] {
  const owners = new Set(shown.map(({ route }) => route.backend));
  return backends.filter(
    ({ backend, tools, resources, templates, prompts, skills = [] }) =>
      owners.has(backend) ||
      skills.length > 0 ||
      [tools, resources, templates, prompts].every(({ length }) => length === 0),
  );
}

/** Warns of what backends declare and clients cannot use. */
function warnUnserved(backends: readonly Catalog[], warnings: WarningCollector): void {
  for (const { backend, capabilities: declared } of backends)
    for (const name of unservedCapabilities(declared))
      warnings.add('CapabilityNotServed', backend, `${quote(backend)} declares what the gateway does not serve`, name);
}

/** Returns the strictest hint of all backends that list items of this kind, or that offer skills. */
const hint = (kind: PagedKind, backends: readonly Catalog[], missing: readonly string[]): CacheHint =>
  strictest([
    ...backends
      .filter((each) => (kind === 'skills' ? each.skills !== undefined : each[kind].length > 0))
      .map(({ hints }) => hints?.[kind] ?? NOT_CACHED),
    ...missing.map(() => NOT_CACHED),
  ]);

function serveTools(
  backends: readonly Catalog[],
  rules: Aggregation,
  unavailable: readonly string[],
  advertise: ServedResources['advertise'],
  warnings: WarningCollector,
): {
  served: Served[];
  hidden: Served[];
  aliases: [string, Route][];
  conflicts: readonly Conflict[];
  advice: readonly Advice[];
} {
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
  if (conflicts.length > 0) return { served: [], hidden: [], aliases: [], conflicts, advice: [] };
  warnUnusualNames(tools, warnings);
  const placed = tools.map((tool) => ({ tool, item: serveTool(tool, advertise) }));
  const shown = placed.filter(({ tool }) => !tool.hidden);
  return {
    served: shown.map(({ item }) => item),
    hidden: placed.filter(({ tool }) => tool.hidden).map(({ item }) => item),
    aliases: shown
      .filter(({ tool }) => tool.full !== tool.advertised)
      .map(({ tool, item }) => [tool.full, aliasRoute(tool, item.route)]),
    conflicts,
    advice: modelAdvice(shown.map(({ tool }) => tool)),
  };
}

const serveTool = (
  { backend, original, advertised, json }: NamedTool,
  advertise: ServedResources['advertise'],
): Served =>
  serve(
    'tools',
    backend,
    original,
    advertised,
    withAdvertisedApp(json, (uri) => advertise(backend, uri)),
  );

/**
 * Returns the route for the full name of a shortened tool. It replaces the name only when the backend has another one.
 */
const aliasRoute = ({ full, original }: NamedTool, route: Route): Route => ({ ...route, renamed: full !== original });

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
    completions: declared('completions'),
    logging: declared('logging'),
    extensions: mergedExtensions(backends),
  };
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
