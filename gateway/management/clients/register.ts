import { isDeepStrictEqual } from 'node:util';
import { isObject, type JsonObject } from '../../contract/json.ts';
import { type McpClient, type ClientEndpoint, clientEntry, urlOf } from './client.ts';
import type { Format } from './formats/format.ts';
import { jsonc } from './formats/jsonc.ts';
import { toml } from './formats/toml.ts';
import { yaml } from './formats/yaml.ts';

/** Syntax of each `Client.format`. */
const FORMATS: Readonly<Record<McpClient['format'], Format>> = { jsonc, toml, yaml };

/** Result of an edit: the new text, which is the old one when there was nothing to do. */
export type FileEdit = { readonly text: string } | { readonly problem: EditProblem };

interface EditProblem {
  /** Line in the file, when the problem has one. */
  readonly line?: number;
  /** Text that follows the file name in a sentence, such as "is not valid JSON". */
  readonly message: string;
  /** True: the file has an entry of the same name that points elsewhere. */
  readonly isTaken?: boolean;
}

interface EditOptions {
  /** Replaces or removes an entry that points elsewhere. */
  readonly force?: boolean;
}

/** Adds the entry of an endpoint to a configuration file. Everything else stays byte for byte. Pure. */
export function addEntry(
  text: string,
  client: McpClient,
  endpoint: ClientEndpoint,
  { force = false }: EditOptions = {},
): FileEdit {
  return edit(text, client, (body, servers) => {
    if (!servers.has(endpoint.name)) return add(body === '' ? newFileOf(client) : body, client, endpoint);
    const present = urlOf(client, servers.get(endpoint.name));
    if (present === endpoint.url) return { text: body };
    if (!force) return taken(endpoint.name, present);
    const without = remove(body, client, endpoint.name);
    return 'problem' in without ? without : add(without.text, client, endpoint);
  });
}

/** Reverts `addEntry`. Without `url`, removes the entry whatever URL it has. Pure. */
export function removeEntry(
  text: string,
  client: McpClient,
  { name, url }: { readonly name: string; readonly url?: string | undefined },
  { force = false }: EditOptions = {},
): FileEdit {
  return edit(text, client, (body, servers) => {
    if (!servers.has(name)) return { text: body };
    const present = urlOf(client, servers.get(name));
    if (url !== undefined && present !== url && !force) return taken(name, present);
    const rest = remove(body, client, name);
    return 'text' in rest && rest.text === newFileOf(client) ? { text: '' } : rest;
  });
}

/** Returns the URL of each server of a configuration file; undefined for servers of another kind. Pure. */
export function registered(text: string, client: McpClient): ReadonlyMap<string, string | undefined> {
  const servers = read(text.replace(BOM, ''), client);
  if ('problem' in servers) return new Map();
  return new Map([...servers.entries].map(([name, entry]) => [name, urlOf(client, entry)]));
}

/** Renders a configuration file with this entry only. A new file also has the members that the client requires. Pure. */
export function snippet(client: McpClient, endpoint: ClientEndpoint, isNew = false): string {
  const { format } = client;
  const text = isNew ? newFileOf(client) : '';
  return FORMATS[format].insert(text, serversPlace(client), endpoint.name, clientEntry(client, endpoint)) ?? '';
}

/** Returns the text of a new file without servers: the members in YAML that the client requires. */
const newFileOf = ({ required = {} }: McpClient): string =>
  Object.entries(required)
    .map(([name, value]) => `${name}: ${value}\n`)
    .join('');

const BOM = /^\uFEFF/u;

const serversPlace = ({ servers: key, isList = false }: McpClient) => ({ key, isList });

type Servers = ReadonlyMap<string, unknown>;

function edit(text: string, client: McpClient, change: (body: string, servers: Servers) => FileEdit): FileEdit {
  const mark = BOM.exec(text)?.[0] ?? '';
  const body = text.slice(mark.length);
  const servers = read(body, client);
  if ('problem' in servers) return servers;
  const changed = change(body, servers.entries);
  return 'problem' in changed ? changed : { text: mark + changed.text };
}

function add(text: string, client: McpClient, endpoint: ClientEndpoint): FileEdit {
  const entry = clientEntry(client, endpoint);
  const changed = FORMATS[client.format].insert(text, serversPlace(client), endpoint.name, entry);
  return verified(text, client, endpoint.name, changed, (present) =>
    isDeepStrictEqual({ ...(present as object) }, entry),
  );
}

function remove(text: string, client: McpClient, name: string): FileEdit {
  const changed = FORMATS[client.format].remove(text, serversPlace(client), name);
  return verified(text, client, name, changed, (present) => present === undefined);
}

/** Checks that an edit changed one server only: the formats edit text, and a rare layout could mislead them. */
function verified(
  before: string,
  client: McpClient,
  name: string,
  after: string | undefined,
  isDesired: (entry: unknown) => boolean,
): FileEdit {
  const [old, fresh] = [read(before, client), after === undefined ? UNSUPPORTED : read(after, client)];
  const isRight =
    !('problem' in old) &&
    !('problem' in fresh) &&
    isDesired(fresh.entries.get(name)) &&
    isDeepStrictEqual(othersOf(old.data, client, name), othersOf(fresh.data, client, name));
  return isRight && after !== undefined ? { text: after } : UNSUPPORTED;
}

const UNSUPPORTED = {
  problem: { message: 'has a layout that cannot be edited safely: edit it yourself, --print shows the entry' },
} as const satisfies FileEdit;

const taken = (name: string, url: string | undefined): FileEdit => ({
  problem: {
    message: `has an entry "${name}" for ${url ?? 'another program'}: use --force to replace or remove it`,
    isTaken: true,
  },
});

/** Parses a file and finds its servers. */
function read(
  text: string,
  client: McpClient,
): { readonly data: JsonObject; readonly entries: Servers } | { readonly problem: EditProblem } {
  const parsed = FORMATS[client.format].parse(text);
  if (!('data' in parsed)) {
    return { problem: { line: parsed.line, message: `${parsed.message}: correct the file, then try again` } };
  }
  const { data } = parsed;
  const { key, isList } = serversPlace(client);
  if (!isObject(data)) return { problem: { message: 'must hold an object: correct the file, then try again' } };
  const servers = data[key] ?? (isList ? [] : {});
  if (isList ? !Array.isArray(servers) : !isObject(servers)) {
    const message = `must have ${isList ? 'a list' : 'an object'} in "${key}": correct the file, then try again`;
    return { problem: { message } };
  }
  const entries = isList
    ? (servers as unknown[]).map((entry) => [serverName(entry), entry] as const)
    : Object.entries(servers);
  return { data, entries: new Map(entries) };
}

const serverName = (entry: unknown): string => (isObject(entry) ? String(entry['name']) : '');

/** Returns the data of a file without one server, and without an empty object of servers. */
function othersOf(data: JsonObject, client: McpClient, name: string): unknown {
  const { key, isList } = serversPlace(client);
  const { [key]: servers, ...rest } = data;
  const others: unknown = isList
    ? ((servers ?? []) as unknown[]).filter((entry) => serverName(entry) !== name)
    : Object.fromEntries(Object.entries(servers ?? {}).filter(([other]) => other !== name));
  return { rest, others };
}
