import type { EnvVar, Header } from '../schema/entry-parts.ts';
import type { RemoteServerEntry, ServerEntry } from '../schema/entries.ts';
import type { Argument, KeyValueInput, Package, ServerJson, ServerRecord } from '../schema/server-json.ts';
import type { Catalog } from './catalog.ts';
import { officialMetaOf } from './official-meta.ts';
import { extensionOf, type Extension } from './publisher-extension.ts';

/** Entries of a catalog by name, sorted. */
export interface Entries {
  readonly servers: ReadonlyMap<string, ServerEntry>;
  readonly remoteServers: ReadonlyMap<string, RemoteServerEntry>;
}

/** Converts the servers of a catalog. A server without a usable package and without a remote has no entry. */
export function entriesOf({ servers: records }: Catalog): Entries {
  const servers = new Map<string, ServerEntry>();
  const remoteServers = new Map<string, RemoteServerEntry>();
  for (const record of records) {
    const server = serverEntry(record);
    const remote = remoteEntry(record);
    if (server) servers.set(record.server.name, server);
    if (remote) remoteServers.set(record.server.name, remote);
  }
  return { servers, remoteServers };
}

function serverEntry(record: ServerRecord): ServerEntry | undefined {
  const found = runnable(record.server.packages ?? []);
  if (!found) return undefined;
  const { image, from } = found;
  const added = extensionOf(record.server, image);
  const { args: addedArgs, env_vars: addedVariables, oauth_config: _, ...more } = added;
  const variables = [...(from.environmentVariables ?? []).map(envVar), ...runtimeVariables(from)];
  const args = flattened(from.packageArguments ?? []);
  const port = portOf(from.transport?.url);
  return {
    ...commonMembers(record, from.transport?.type ?? 'stdio'),
    ...more,
    image,
    ...listed('env_vars', variables.length > 0 ? variables : addedVariables),
    ...listed('args', args.length > 0 ? args : addedArgs),
    ...(port !== undefined && { target_port: port }),
  };
}

function remoteEntry(record: ServerRecord): RemoteServerEntry | undefined {
  const [remote] = record.server.remotes ?? [];
  if (!remote) return undefined;
  const { type, url, headers = [] } = remote;
  const { args: _a, container_tags: _c, permissions: _p, provenance: _v, ...more } = extensionOf(record.server, url);
  return { ...commonMembers(record, type), ...more, url, ...listed('headers', headers.map(header)) };
}

/** Members that are always set, and those of `server.json`. The publisher's members replace them. */
function commonMembers(record: ServerRecord, transport: string): Omit<ServerEntry, 'image'> {
  const { name, title, description, repository } = record.server;
  return {
    name,
    ...(title !== undefined && { title }),
    description,
    tier: 'Community',
    status: officialMetaOf(record).status === 'deprecated' ? 'Deprecated' : 'Active',
    transport,
    tools: [],
    ...(repository?.url !== undefined && { repository_url: repository.url }),
  } satisfies Omit<ServerEntry, 'image'> & Extension;
}

/** Schemes of package registries whose packages vmcp runs by itself. */
const PACKAGE_IMAGES: Readonly<Record<string, (found: Package) => string>> = {
  npm: ({ identifier, version }) => `npx://${identifier}${version === undefined ? '' : `@${version}`}`,
  pypi: ({ identifier, version }) => `uvx://${identifier}${version === undefined ? '' : `==${version}`}`,
};

/**
 * Returns the package to run: the only container image, else the first package of npm or PyPI. Several images are
 * ambiguous.
 */
function runnable(packages: ServerJson['packages'] & object): { image: string; from: Package } | undefined {
  const images = packages.filter(({ registryType }) => registryType === 'oci');
  const [image] = images;
  if (image) return images.length === 1 ? { image: image.identifier, from: image } : undefined;
  const from = packages.find(({ registryType }) => Object.hasOwn(PACKAGE_IMAGES, registryType));
  const render = from && PACKAGE_IMAGES[from.registryType];
  return from && render ? { image: render(from), from } : undefined;
}

const envVar = ({ name, description = '', isRequired = false, isSecret, ...input }: KeyValueInput): EnvVar => ({
  name,
  description,
  required: isRequired,
  ...defaultOf(input),
  ...(isSecret === true && { secret: true }),
});

const header = ({ choices = [], ...input }: KeyValueInput): Header => ({
  ...envVar(input),
  ...(choices.length > 0 && { choices }),
});

/** Reads the variables of `-e NAME=value` arguments of a container engine. */
const runtimeVariables = ({ runtimeArguments = [] }: Package): EnvVar[] =>
  runtimeArguments.flatMap((argument): EnvVar[] => {
    const [, name, value = ''] = /^([^=]+)=(.*)$/su.exec(argument.value ?? '') ?? [];
    if ((argument.name !== '-e' && argument.name !== '--env') || name === undefined) return [];
    const [variable] = Object.values(argument.variables ?? {});
    const { description, isRequired } = { ...variable, ...argument };
    const fixed = value.includes('{') ? undefined : value;
    return [
      envVar({
        name,
        ...(description !== undefined && { description }),
        ...(isRequired !== undefined && { isRequired }),
        ...(variable?.isSecret !== undefined && { isSecret: variable.isSecret }),
        ...defaultOf({ ...variable, ...(fixed !== undefined && { default: fixed }) }),
      }),
    ];
  });

/** Returns a fixed value or the default. A value with variables is neither. */
function defaultOf({ value, default: fallback }: Partial<KeyValueInput>): { default?: string } {
  const text = value !== undefined && !value.includes('{') ? value : fallback;
  return text === undefined ? {} : { default: text };
}

/** Returns the words of the arguments that have a value. */
const flattened = (given: readonly Argument[]): string[] =>
  given.flatMap((argument) => {
    const { default: text } = defaultOf(argument);
    if (text === undefined) return [];
    return argument.type === 'named' && argument.name !== undefined ? [argument.name, text] : [text];
  });

function portOf(url: string | undefined): number | undefined {
  const port = /^[a-z]+:\/\/[^/:]+:(\d{1,5})(?:\/|$)/u.exec(url ?? '')?.[1];
  return port === undefined ? undefined : Number(port);
}

/** Returns a member with a list that is not empty, or no member. */
const listed = <Name extends string, Item>(name: Name, items: readonly Item[] | undefined): { [N in Name]?: Item[] } =>
  (items !== undefined && items.length > 0 ? { [name]: [...items] } : {}) as { [N in Name]?: Item[] };
