import { isObject, type JsonObject } from '../../../gateway/contract/json.ts';
import type { ClientEntry } from './server-spec.ts';
import { isTextList } from './texts.ts';

/** Members of clients' files that hold the servers, as an object by name or as a list. */
interface ServerPlace {
  readonly path: readonly string[];
  /** Writes a server of this place as most clients write it. `root` is the whole file. */
  readonly asUsual?: (value: JsonObject, name: string, root: JsonObject) => JsonObject | Unusable;
  /** True for a member that also has another meaning: at least one of its members must look like a server. */
  readonly isShared?: boolean;
  /** Folder of the project that has the servers, and the names that are off there. */
  readonly project?: { readonly folder: string; readonly off: readonly unknown[] };
}

const PLACES: readonly ServerPlace[] = [
  // Claude, Cursor, Windsurf, Cline, Gemini CLI and others; Continue in YAML.
  { path: ['mcpServers'], asUsual: continueServer },
  // VS Code
  { path: ['servers'] },
  { path: ['mcp', 'servers'], asUsual: opencodeServer },
  { path: ['mcp.servers'] },
  { path: ['customizations', 'vscode', 'mcp', 'servers'] },
  // Zed
  { path: ['context_servers'], asUsual: zedServer },
  // opencode 1
  { path: ['mcp'], asUsual: opencodeServer, isShared: true },
  { path: ['amp', 'mcpServers'] },
  { path: ['augment.advanced', 'mcpServers'] },
  // Continue in JSON
  { path: ['experimental', 'modelContextProtocolServers'], asUsual: continueServer },
  // Codex and Mistral Vibe
  { path: ['mcp_servers'] },
];

/** Goose. Settings of editors have a member of this name, too. */
const EXTENSIONS: ServerPlace = { path: ['extensions'], asUsual: gooseServer };

const at = (root: JsonObject, path: readonly string[]): unknown =>
  path.reduce<unknown>(
    (value, name) => (isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined),
    root,
  );

/** Lists the places of servers in a file. Settings of extensions, such as `amp.mcpServers`, are a single key with dots. */
export function placesIn(root: unknown, format: 'json' | 'yaml' | 'toml'): ServerPlace[] {
  if (!isObject(root)) return [];
  const dotted = Object.keys(root).filter((name) => name.endsWith('.mcpServers'));
  const places = [
    ...PLACES,
    ...dotted.map((name): ServerPlace => ({ path: [name] })),
    ...projectPlaces(root),
    ...(format === 'yaml' ? [EXTENSIONS] : []),
  ];
  return places.filter(({ path, isShared = false }) => {
    const value = at(root, path);
    // A list of `servers` is that of another format, such as OpenAPI.
    if (Array.isArray(value)) return path.at(-1) !== 'servers' && value.length > 0 && value.every(isObject);
    if (!isObject(value) || isServer(value)) return false;
    return !isShared || (Object.values(value).every(isObject) && Object.values(value).some(isServer));
  });
}

/** Returns the places of the projects in the file of Claude Code. */
function projectPlaces({ projects }: JsonObject): ServerPlace[] {
  return Object.entries(isObject(projects) ? projects : {}).flatMap(([folder, project]) => {
    if (!isObject(project) || !isObject(project['mcpServers']) || Object.keys(project['mcpServers']).length === 0)
      return [];
    const { disabledMcpServers: off } = project;
    return { path: ['projects', folder, 'mcpServers'], project: { folder, off: Array.isArray(off) ? off : [] } };
  });
}

const isServer = (value: unknown): boolean => {
  if (!isObject(value)) return false;
  const { command } = value;
  const hasPath = isObject(command) && typeof command['path'] === 'string';
  const texts = [command, value['url'], value['serverUrl'], value['httpUrl']];
  return hasPath || isTextList(command) || texts.some((text) => typeof text === 'string');
};

/** Returns the servers of a place in their order. */
export function entriesAt(root: unknown, { path, asUsual = (value) => value, project }: ServerPlace): ClientEntry[] {
  if (!isObject(root)) return [];
  const value = at(root, path);
  const named = Array.isArray(value)
    ? value.map(
        (item: unknown) =>
          [isObject(item) && typeof item['name'] === 'string' ? item['name'] : 'server', item] as const,
      )
    : Object.entries(isObject(value) ? value : {});
  return named.map(([name, item]) => {
    const usual = isObject(item) ? asUsual(item, name, root) : item;
    if (isUnusable(usual)) return { name, value: item, leftOut: usual.leftOut };
    const excluded = path[0] === 'mcpServers' ? exclusionOf(root, name) : undefined;
    if (excluded !== undefined) return { name, value: usual, leftOut: excluded };
    if (!project) return { name, value: usual };
    const { folder, off } = project;
    const isOff = off.includes(name);
    return {
      name,
      value: usual,
      project: folder,
      ...(isOff && { leftOut: `it is disabled in the project ${folder}` }),
    };
  });
}

/** Returns the setting by which Gemini CLI and Qwen Code turn a server off for the whole file. */
function exclusionOf(root: JsonObject, name: string): string | undefined {
  const mcp = isObject(root['mcp']) ? root['mcp'] : {};
  const has = (list: unknown): boolean => Array.isArray(list) && list.includes(name);
  if (has(mcp['excluded']) || has(root['excludeMCPServers'])) return 'it is disabled: the file excludes it';
  const allowed = mcp['allowed'] ?? root['allowMCPServers'];
  return Array.isArray(allowed) && !has(allowed) ? 'it is disabled: the file allows other servers only' : undefined;
}

const isUnusable = (value: unknown): value is Unusable => isObject(value) && typeof value['leftOut'] === 'string';

/** Returns the servers of a file that is nothing but a map of them, as plugins of Claude Code and Warp have it. */
export function bareEntries(root: unknown): ClientEntry[] {
  if (!isObject(root) || Object.keys(root).length === 0 || !Object.values(root).every(isServer)) return [];
  return Object.entries(root).map(([name, value]) => ({ name, value }));
}

/** Server that only its client can run. */
interface Unusable {
  readonly leftOut: string;
}

/** Types of extensions that Goose itself contains. */
const PARTS_OF_GOOSE = ['builtin', 'platform', 'frontend', 'inline_python'];

/**
 * Turns an extension of Goose (`cmd`, `envs`, `uri`, a timeout in seconds) into a server as most clients write it. The values
 * of `env_keys` are in the keyring of the user.
 */
function gooseServer(extension: JsonObject): JsonObject | Unusable {
  const { config, ...outer } = extension;
  const {
    cmd,
    envs,
    env_keys: keys,
    uri,
    timeout,
    type,
    ...rest
  }: JsonObject = isObject(config) ? { ...outer, ...config } : extension;
  if (typeof type === 'string' && PARTS_OF_GOOSE.includes(type)) return { leftOut: 'it is a part of Goose itself' };
  const inKeyring = Array.isArray(keys) ? keys.map((key) => [String(key), `\${keyring:${String(key)}}`]) : [];
  const env = { ...(Object.fromEntries(inKeyring) as JsonObject), ...(isObject(envs) ? envs : {}) };
  return {
    ...rest,
    ...(typeof type === 'string' && { type }),
    ...(cmd !== undefined && { command: cmd }),
    ...(uri !== undefined && { url: uri }),
    ...(Object.keys(env).length > 0 && { env }),
    ...(typeof timeout === 'number' && { timeout: timeout * 1000 }),
  };
}

/** Flattens a server of Continue, which nests a `transport`, and headers in `requestOptions`. */
function continueServer(server: JsonObject): JsonObject | Unusable {
  const { transport, requestOptions: options, uses, ...rest } = server;
  if (typeof uses === 'string') return { leftOut: 'it names a block of the hub of Continue: write its settings out' };
  const flat: JsonObject = isObject(transport) ? { ...rest, ...transport } : server;
  if (!isObject(options)) return flat;
  const { headers, ...others } = options;
  const given = isObject(flat['headers']) ? flat['headers'] : {};
  const all = isObject(headers) ? { ...given, ...headers } : headers; // another value than an object is refused later
  return { ...flat, ...(headers !== undefined && { headers: all }), requestOptions: others };
}

/** Returns a server of Zed with its timeout in milliseconds; the file may have a timeout for all servers. */
function zedServer(server: JsonObject, _name: string, root: JsonObject): JsonObject {
  const seconds = server['timeout'] ?? root['context_server_timeout'];
  return typeof seconds === 'number' ? { ...server, timeout: seconds * 1000 } : server;
}

/** Adds the settings that other places of the file have for a server of opencode: switches of its tools, and a timeout for all servers. */
function opencodeServer(server: JsonObject, name: string, root: JsonObject): JsonObject {
  const { tools, mcp } = root;
  const general = isObject(mcp) && isObject(mcp['servers']) ? mcp['timeout'] : undefined;
  const own = isObject(server['timeout']) ? server['timeout'] : {};
  const timed =
    isObject(general) && typeof server['timeout'] !== 'number'
      ? { ...server, timeout: { ...general, ...own } }
      : server;
  if (!isObject(tools)) return timed;
  const prefix = name.replace(/[^A-Za-z0-9_-]/gu, '_');
  const off = Object.entries(tools).flatMap(([pattern, isOn]) =>
    isOn === false && pattern.startsWith(prefix) ? (/^_?(.+)$/su.exec(pattern.slice(prefix.length))?.[1] ?? []) : [],
  );
  return off.length > 0 ? { ...timed, disabledTools: off } : timed;
}
