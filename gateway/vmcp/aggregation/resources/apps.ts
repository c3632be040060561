import { readString } from '../../../http/json-scan.ts';
import { memberOf, wholeOf, type Span } from '../../../http/json-walk.ts';
import type { Catalog } from '../catalog.ts';
import { edited } from '../forward-params.ts';
import { APP_SCHEME, firstSegment, segmentOf, type Advertise } from './uri-names.ts';

const RESOURCE_URI = Buffer.from('resourceUri');

/** Returns the spans of the URIs in a tool's metadata that name the app for its results. @see SEP-1865 */
function appSpans(tool: Buffer): Span[] {
  if (!tool.includes(RESOURCE_URI)) return [];
  const meta = memberOf(tool, wholeOf(tool), '_meta');
  const spans = [memberOf(tool, memberOf(tool, meta, 'ui'), 'resourceUri'), memberOf(tool, meta, 'ui/resourceUri')];
  return spans.flatMap((span) => (readString(tool, span)?.startsWith(APP_SCHEME) && span ? [span] : []));
}

/** Returns the URIs of the apps for the results of a backend's tools. No list need have them. */
export const appsOfTools = ({ tools }: Pick<Catalog, 'tools'>): string[] =>
  tools.flatMap(({ json }) => appSpans(json).map((span) => readString(json, span) ?? ''));

/** Returns the JSON text of a tool with the advertised URI of its app. */
export function withAdvertisedApp(tool: Buffer, advertise: Advertise): Buffer {
  const edits = appSpans(tool).map((span) => ({ span, text: JSON.stringify(advertise(readString(tool, span) ?? '')) }));
  return edits.length === 0 ? tool : edited(tool, wholeOf(tool), edits);
}

/**
 * Returns the backends whose `ui://` URIs get the name of the backend as the first segment: those with a URI that an
 * earlier backend has, or that could be taken for one of another backend. Otherwise the app of one backend would show the
 * results of another.
 */
export function backendsWithPrefixedApps(catalogs: readonly Catalog[], missing: readonly string[]): Set<string> {
  const segments = new Set([...catalogs.map(({ backend }) => backend), ...missing].map(segmentOf));
  const taken = new Set<string>();
  const prefixed = new Set<string>();
  for (const catalog of catalogs) {
    const { backend, resources, templates } = catalog;
    const listed = [...resources, ...templates].map(({ key }) => key);
    const uris = [...listed, ...appsOfTools(catalog)].filter((uri) => uri.startsWith(APP_SCHEME));
    const isForeign = (segment: string): boolean => segment !== segmentOf(backend) && segments.has(segment);
    if (uris.some((uri) => taken.has(uri) || isForeign(firstSegment(uri)))) prefixed.add(backend);
    else for (const uri of uris) taken.add(uri);
  }
  return prefixed;
}
