import type { RegistryDeps } from './configured-registry.ts';
import { RegistryFault } from './fault.ts';
import { RegistryLogin } from './login.ts';
import type { RegistrySettings, RegistryUpdate, SourceType } from './schema/registry.ts';
import { speaksProtocol } from './sources/api.ts';
import { pathIn } from './sources/file.ts';
import { sourceOf } from './sources/index.ts';
import { registryPolicy, requester, urlFault, type Request } from './sources/request.ts';
import type { RegistryReading } from './sources/source.ts';

const TIMEOUT_MS = 5_000;

/** New settings that can be used. */
interface ValidUpdate {
  readonly settings: RegistrySettings;
  /** Document that the check has read without a credential. */
  readonly reading: RegistryReading | undefined;
}

/**
 * Checks new settings in this order: number of locations, permission, source, document, login. Throws
 * `RegistryFault`, and what `permit` throws.
 */
export async function validateUpdate(
  update: RegistryUpdate,
  permit: () => void,
  deps: RegistryDeps,
): Promise<ValidUpdate> {
  const { allow_private_ip: allowPrivateIp = false, auth } = update;
  if (locationsIn(update).length > 1) {
    throw new RegistryFault('setting', 'more than one source: set only one of url, api_url and local_path');
  }
  permit();
  const outbound = deps.outbound({ policy: registryPolicy(allowPrivateIp), log: deps.log });
  try {
    const request = limited(requester(outbound, async () => undefined));
    const source = await chooseSource(update, request);
    if (auth && !sourceOf(source.type).isRemote) {
      throw new RegistryFault('setting', 'auth is for registries behind a URL: set url or api_url, or remove auth');
    }
    const reading = await checkDocument(source, request, auth !== undefined, deps);
    if (auth) await checkLogin(auth, allowPrivateIp, deps);
    return { settings: { ...source, allow_private_ip: allowPrivateIp, ...(auth && { auth }) }, reading };
  } finally {
    await outbound.close();
  }
}

const limited =
  (request: Request): Request =>
  (url, options) =>
    request(url, { ...options, timeoutMs: Math.min(options.timeoutMs, TIMEOUT_MS) });

/** Reads the document of a file or URL. Reads nothing from a protocol server: `chooseSource` has probed it. */
async function checkDocument(
  { type, location }: Source,
  request: Request,
  hasAuth: boolean,
  deps: RegistryDeps,
): Promise<RegistryReading | undefined> {
  if (type === 'api') return undefined;
  try {
    return await sourceOf(type).read(location, { request, readAt: new Date(deps.now()).toISOString() });
  } catch (error) {
    const canLogIn = hasAuth && error instanceof RegistryFault && error.kind === 'auth';
    if (!canLogIn) throw error;
    return undefined;
  }
}

async function checkLogin(auth: RegistrySettings['auth'] & object, allowPrivateIp: boolean, deps: RegistryDeps) {
  const { logins: store, outbound, now, log } = deps;
  const login = new RegistryLogin({ auth, allowPrivateIp, store, outbound, now, log });
  try {
    await login.check();
  } finally {
    await login.close();
  }
}

/** Source of a registry. */
interface Source {
  readonly type: SourceType;
  /** URL without a slash at its end, or absolute path; empty for the built-in registry. */
  readonly location: string;
}

/** Lists the locations in new settings. More than one location is a mistake. */
const locationsIn = ({ url, api_url, local_path }: RegistryUpdate): string[] =>
  [url, api_url, local_path].filter((location) => location !== undefined && location !== '') as string[];

/**
 * Determines the kind of registry at the location. `url` and `api_url` may hold a path or either kind of URL. A URL that ends in
 * `.json` or has a query is a document; any other URL is probed. Throws `RegistryFault`.
 */
async function chooseSource(update: RegistryUpdate, request: Request): Promise<Source> {
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
