import { pathIn } from '../sources/file.ts';
import { speaksProtocol } from '../sources/api.ts';
import { registryPolicy, urlFault, type Request } from '../sources/request.ts';
import type { SourceType } from '../schema/source-type.ts';
import type { RegistryUpdate } from '../schema/settings.ts';

/** Source of a registry. */
export interface Source {
  readonly type: SourceType;
  /** URL without a slash at its end, or absolute path; empty for the built-in registry. */
  readonly location: string;
}

/** Lists the locations in new settings. More than one is a mistake. */
export const locationsIn = ({ url, api_url, local_path }: RegistryUpdate): string[] =>
  [url, api_url, local_path].filter((location) => location !== undefined && location !== '') as string[];

/**
 * Determines the kind of registry at the location. `url` and `api_url` may hold a path or either kind of URL. A URL that ends in
 * `.json` or has a query is a document; any other URL is probed. Throws `RegistryFault`.
 */
export async function chooseSource(update: RegistryUpdate, request: Request): Promise<Source> {
  const [location] = locationsIn(update);
  if (location === undefined) return { type: 'default', location: '' };
  const isPath =
    location === update.local_path || /^file:/iu.test(location) || !/^[a-z][a-z0-9+.-]*:\/\//iu.test(location);
  if (isPath) return { type: 'file', location: pathIn(location) };
  const refused = urlFault(location, registryPolicy(update.allow_private_ip === true));
  if (refused) throw refused;
  const { pathname, search } = new URL(location);
  if (pathname.endsWith('.json') || search !== '') return { type: 'url', location };
  const base = location.endsWith('/') ? location.slice(0, -1) : location;
  return (await speaksProtocol(base, request)) ? { type: 'api', location: base } : { type: 'url', location };
}
