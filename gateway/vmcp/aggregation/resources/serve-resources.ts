import { appsOfTools, backendsWithPrefixedApps } from './apps.ts';
import type { Catalog } from '../catalog.ts';
import { clash, routesOf, serve, sorted, unlistedRoute, type Served } from '../served.ts';
import { APP_SCHEME, firstSegment, prefixedUri, segmentOf, SKILL_SCHEME } from './uri-names.ts';
import type { Route } from '../view.ts';
import type { WarningCollector } from '../warnings.ts';

/** Resources and templates of all backends. */
export interface ServedResources {
  readonly resources: readonly Served[];
  readonly templates: readonly Served[];
  /** By URI: of the listed resources, of the apps of tools, and of own URIs that only one backend has. */
  readonly routes: ReadonlyMap<string, Route>;
  /** Returns the advertised URI of one of a backend. */
  readonly advertise: (backend: string, uri: string) => string;
}

/**
 * Serves resources and templates. Those of skills get the name of their backend as the first segment, and so do those of
 * apps where two backends have the same. Other URIs are never rewritten.
 */
export function serveResources(
  catalogs: readonly Catalog[],
  missing: readonly string[],
  warnings: WarningCollector,
): ServedResources {
  const apps = backendsWithPrefixedApps(catalogs, missing);
  const isPrefixed = (backend: string, uri: string): boolean =>
    uri.startsWith(SKILL_SCHEME) || (apps.has(backend) && uri.startsWith(APP_SCHEME));
  const advertise: ServedResources['advertise'] = (backend, uri) =>
    isPrefixed(backend, uri) ? prefixedUri(backend, uri) : uri;
  const resources = serveUris(catalogs, 'resources', advertise, warnings);
  const routes = routesOf(resources);
  for (const catalog of catalogs) {
    const { backend } = catalog;
    for (const uri of appsOfTools(catalog)) {
      const advertised = advertise(backend, uri);
      if (!routes.has(advertised)) routes.set(advertised, unlistedRoute(backend, uri, advertised));
    }
  }
  const names = [...catalogs.map(({ backend }) => backend), ...missing];
  for (const [uri, route] of ownUris(resources, names)) if (!routes.has(uri)) routes.set(uri, route);
  return { resources, templates: serveUris(catalogs, 'templates', advertise, warnings), routes, advertise };
}

/**
 * Serves resources or templates; the first backend in sorted order serves a URI. Templates that differ only in variable
 * names count as equal.
 */
function serveUris(
  catalogs: readonly Catalog[],
  kind: 'resources' | 'templates',
  advertise: ServedResources['advertise'],
  warnings: WarningCollector,
): Served[] {
  const served: Served[] = [];
  const owners = new Map<string, string>();
  for (const catalog of catalogs) {
    const { backend } = catalog;
    for (const { key, json } of sorted(catalog[kind])) {
      const advertised = advertise(backend, key);
      const space = kind === 'templates' ? withoutNames(advertised) : advertised;
      const owner = owners.get(space) ?? backend;
      owners.set(space, owner);
      if (owner === backend) served.push(serve(kind, backend, key, advertised, json));
      else warnings.add('ResourceClash', backend, clash(kind, backend, owner, 'URI'), key);
    }
  }
  return served;
}

/** Returns a URI template (RFC 6570) with `_` in place of variable names and lengths. */
const withoutNames = (template: string): string =>
  template.replaceAll(/\{[^{}]*\}/g, (expression) => expression.replaceAll(/[A-Za-z0-9_.%]+/g, '_'));

/**
 * Returns the routes of renamed resources by the URI at their backend, where no other backend has it and it names none:
 * tool results and texts of a backend contain such URIs.
 */
function ownUris(resources: readonly Served[], backends: readonly string[]): [string, Route][] {
  const segments = new Set(backends.map(segmentOf));
  const owners = new Map<string, Route | undefined>();
  for (const { route } of resources)
    if (route.renamed) owners.set(route.name, owners.has(route.name) ? undefined : route);
  return [...owners].flatMap(([uri, route]): [string, Route][] =>
    route && !segments.has(firstSegment(uri)) ? [[uri, route]] : [],
  );
}
