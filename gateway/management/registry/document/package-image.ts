import { classifyHost } from '../../../outbound/address-class.ts';
import type { Package } from '../schema/server-json.ts';

/** Image of a package, with the environment of its installation; or the reason why vmcp cannot run it. */
type PackageImage =
  | { readonly image: string; readonly installEnv?: Readonly<Record<string, string>> }
  | { readonly reason: string };

/** Hosts of the registries that are used without a base URL. */
const DEFAULT_HOSTS = {
  npm: ['registry.npmjs.org', 'registry.npmjs.com', 'npmjs.com', 'www.npmjs.com'],
  pypi: ['pypi.org', 'www.pypi.org', 'pypi.python.org'],
  docker: ['docker.io', 'index.docker.io', 'registry-1.docker.io', 'registry.hub.docker.com', 'hub.docker.com'],
} as const;

type Default = keyof typeof DEFAULT_HOSTS;
const isDefault = (registry: Default, { hostname }: URL): boolean =>
  (DEFAULT_HOSTS[registry] as readonly string[]).includes(hostname);

/** Images of the package registries whose packages vmcp runs. */
const IMAGES: Readonly<Record<string, (found: Package, base: URL | undefined) => PackageImage>> = {
  oci: ociImage,
  npm: ({ identifier, version }, base) => ({
    image: `npx://${identifier}${version === undefined ? '' : `@${version}`}`,
    ...(base && !isDefault('npm', base) && { installEnv: { npm_config_registry: base.href } }),
  }),
  pypi: ({ identifier, version }, base) => ({
    image: `uvx://${identifier}${version === undefined ? '' : `==${version}`}`,
    ...(base && !isDefault('pypi', base) && { installEnv: { UV_DEFAULT_INDEX: simpleIndex(base) } }),
  }),
};

/** Returns the image of a package, at its version and from its registry. */
export function imageOf(found: Package): PackageImage {
  const { registryType, registryBaseUrl, fileSha256 } = found;
  const render = IMAGES[registryType];
  if (!render) return { reason: `vmcp runs packages of oci, npm and pypi, not of ${registryType}` };
  if (fileSha256 !== undefined) return { reason: 'fileSha256 cannot be verified' };
  const base = registryBaseUrl === undefined ? undefined : URL.parse(registryBaseUrl);
  if (base === null || (base && !isSafe(base)))
    return { reason: `registryBaseUrl "${registryBaseUrl ?? ''}" is no https URL without user and password` };
  return render(found, base);
}

/** Returns true for the URL of a package registry: plain http is for this machine only. */
export const isSafe = ({ protocol, hostname, username, password }: URL): boolean =>
  username + password === '' &&
  (protocol === 'https:' || (protocol === 'http:' && classifyHost(hostname) === 'loopback'));

/** Returns the simple index (PEP 503) of a package index. */
const simpleIndex = ({ href }: URL): string =>
  /simple\/?$/u.test(href) ? href : `${href.replace(/\/$/u, '')}/simple/`;

/** Returns the host of a reference: its first part, if that has a dot or a port, or is `localhost`. */
function hostOf(reference: string): string | undefined {
  const end = reference.indexOf('/');
  const first = reference.slice(0, Math.max(end, 0));
  return first === 'localhost' || /[.:]/u.test(first) ? first : undefined;
}

/** Tag or digest at the end of a reference. */
const PINNED = /(?::[\w][\w.-]*|@[a-z0-9]+:[0-9a-f]+)$/u;

function ociImage({ identifier, version }: Package, base: URL | undefined): PackageImage {
  const path = base?.pathname.replace(/^\/v[12](?=\/|$)|\/$/gu, '') ?? '';
  const host = base && (isDefault('docker', base) ? 'docker.io' : base.host + path.replace(/\/$/u, ''));
  const own = hostOf(identifier);
  if (own !== undefined && host !== undefined && own !== host.split('/')[0])
    return { reason: `identifier ${identifier} and registryBaseUrl ${base?.href ?? ''} name two registries` };
  const image = own === undefined && host !== undefined ? `${host}/${identifier}` : identifier;
  if (version === undefined || PINNED.test(image.slice(image.lastIndexOf('/') + 1))) return { image };
  return { image: `${image}${/^sha\d+:/u.test(version) ? '@' : ':'}${version}` };
}
