import { Type, type Static, type TObject } from 'typebox';
import { isObject, type JsonObject } from '../../../contract/json.ts';
import { filled, placeholdersIn } from '../../../workloads/definition/entry/entry-variables.ts';
import { compiled } from '../schema/compiled.ts';
import { RemoteServerEntry, ServerEntry, type Header } from '../schema/entries.ts';
import type { EntryProblem } from '../schema/registry.ts';
import type { Remote, ServerJson, ServerRecord } from '../schema/server-json.ts';
import { officialMetaOf, type RegistryCatalog } from './catalog.ts';
import { asHeader, asked, inputValue } from './inputs.ts';
import { runOf } from './package-run.ts';

/** Entries of a catalog by name, sorted. */
export interface Entries {
  readonly servers: ReadonlyMap<string, ServerEntry>;
  readonly remoteServers: ReadonlyMap<string, RemoteServerEntry>;
  /** Servers without an entry, and servers and skills that do not fit their schema. */
  readonly problems: readonly EntryProblem[];
}

/** Converts the servers of a catalog. A server without a usable package and without a remote has no entry. */
export function convertCatalog({ servers: records, problems: unread = [] }: RegistryCatalog): Entries {
  const servers = new Map<string, ServerEntry>();
  const remoteServers = new Map<string, RemoteServerEntry>();
  const problems = [...unread];
  for (const record of records) {
    const { name } = record.server;
    const server = serverEntry(record);
    const remote = remoteEntry(record);
    if (!('reason' in server)) servers.set(name, server);
    else if (!remote) problems.push({ server: name, reason: reasonOf(record, server.reason) });
    if (remote) remoteServers.set(name, remote);
  }
  return { servers, remoteServers, problems };
}

function serverEntry(record: ServerRecord): ServerEntry | { readonly reason: string } {
  const run = runOf(record.server.packages ?? []);
  if ('reason' in run) return run;
  const { image, transport, args = [], env_vars = [], permissions, asked: variables, identifier, ...more } = run;
  const ofImage = extensionOf(record.server, image);
  const added = Object.keys(ofImage).length > 0 ? ofImage : extensionOf(record.server, identifier);
  const { args: addedArgs, env_vars: addedVariables, oauth_config: _, ...others } = added;
  return {
    ...commonMembers(record, transport),
    ...others,
    ...more,
    image,
    ...((permissions ?? added.permissions) && { permissions: { ...added.permissions, ...permissions } }),
    ...listed('env_vars', env_vars.length > 0 ? env_vars : addedVariables),
    ...listed('args', args.length > 0 ? args : addedArgs),
    ...listed('variables', unique(variables)),
  };
}

/** Names the transports of a server that has only remotes that vmcp cannot reach. Returns `reason` for a server with packages. */
function reasonOf({ server: { packages = [], remotes = [] } }: ServerRecord, reason: string): string {
  if (packages.length > 0 || remotes.length === 0) return reason;
  return `vmcp connects over ${TRANSPORTS.join(' and ')}, not over ${remotes.map(({ type }) => type).join(', ')}`;
}

/** Transports of a remote server in order of preference: SSE is the deprecated predecessor of streamable HTTP. */
const TRANSPORTS = ['streamable-http', 'sse'];

function remoteEntry(record: ServerRecord): RemoteServerEntry | undefined {
  const { remotes = [] } = record.server;
  const remote = TRANSPORTS.flatMap((transport) => remotes.filter(({ type }) => type === transport))[0];
  if (!remote) return undefined;
  const { type, url: template, headers = [] } = remote;
  const url = filled(template, (name) => inputValue(remote.variables?.[name] ?? {}));
  const {
    args: _a,
    container_tags: _c,
    permissions: _p,
    provenance: _v,
    ...more
  } = extensionOf(record.server, template);
  const variables = urlVariables(remote);
  return {
    ...commonMembers(record, type),
    ...more,
    url,
    ...(variables.length > 0 && { url_template: template }),
    ...listed('headers', headers.map(asHeader)),
    ...listed('variables', variables),
  };
}

/** A text with a name in braces is no URL, so a variable without a default needs a value even if its publisher does not require it. */
const urlVariables = ({ url, variables = {} }: Remote): Header[] =>
  [...new Set(placeholdersIn(url))].map((name) => {
    const variable = variables[name] ?? {};
    return asked(name, { ...variable, isRequired: variable.isRequired ?? inputValue(variable) === undefined });
  });

const unique = (variables: readonly Header[]): Header[] => [
  ...new Map(variables.map((variable) => [variable.name, variable])).values(),
];

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

/** Returns a member with a list that is not empty, or no member. */
const listed = <Name extends string, Item>(name: Name, items: readonly Item[] | undefined): { [N in Name]?: Item[] } =>
  (items !== undefined && items.length > 0 ? { [name]: [...items] } : {}) as { [N in Name]?: Item[] };

const PUBLISHER = 'io.modelcontextprotocol.registry/publisher-provided';

const { tier, status, tools, overview, tags, metadata, custom_metadata, proxy_port, args, ...rest } =
  ServerEntry.properties;
const { container_tags, permissions, provenance, env_vars } = rest;
const { oauth_config } = RemoteServerEntry.properties;

/** Members that a publisher adds to a server for one image or URL. */
const Extension = Type.Partial(
  Type.Object({
    ...{ tier, status, tools, overview, tags, metadata, custom_metadata, proxy_port, args },
    ...{ container_tags, permissions, provenance, env_vars, oauth_config },
  }),
);
type Extension = Static<typeof Extension>;

const members = Object.entries((Extension as TObject).properties).map(
  ([name, schema]) => [name, compiled(schema)] as const,
);

/**
 * Reads the members that the publisher adds for `key`, an image or a URL, under any vendor. Leaves out members that do not
 * fit their schema.
 */
function extensionOf({ _meta }: ServerJson, key: string): Extension {
  const added = addedFor(_meta?.[PUBLISHER], key);
  return Object.fromEntries(
    members
      .filter(([name, fits]) => Object.hasOwn(added, name) && fits(added[name]))
      .map(([name]) => [name, added[name]]),
  );
}

function addedFor(publisher: unknown, key: string): JsonObject {
  if (!isObject(publisher)) return {};
  const found = Object.values(publisher).find((vendor) => isObject(vendor) && Object.hasOwn(vendor, key));
  const added = isObject(found) ? found[key] : undefined;
  return isObject(added) ? added : {};
}
