/** MCP client program whose configuration file can name an HTTP endpoint. */
export interface McpClient {
  /** Identifier on the command line and in the management API. */
  readonly type: string;
  /** Display name. */
  readonly name: string;
  /** Configuration file of the user. It starts with a folder of `config-file.ts`. */
  readonly file: string;
  /** The file on Windows, when it is not at the same place. */
  readonly windowsFile?: string;
  /** The file of the program that the client replaced. It applies while its folder exists and the folder of `file` does not. */
  readonly olderFile?: string;
  /** Members that a new file needs beside the servers. */
  readonly required?: Readonly<Record<string, string>>;
  /** Step that the user takes before the client uses a new entry. */
  readonly nextStep?: string;
  /** Configuration file of a project, relative to the folder of the project. */
  readonly projectFile?: string;
  readonly format: 'jsonc' | 'toml' | 'yaml';
  /** Key of the servers in the file. */
  readonly servers: string;
  /** True: the servers are a list, and each has its name in `name`. False: they are members of an object. */
  readonly isList?: boolean;
  readonly entry: UrlEntry | 'mcp-remote';
  /** Link that opens the client, which then offers to add a server. */
  readonly link?: InstallLink;
  /** Command of the client itself that adds a server. `{transport}`, `{name}` and `{url}` are words of their own. */
  readonly addCommand?: string;
  /** Folders of skills, when the client reads skills. */
  readonly skills?: SkillFolders;
}

/** Folders in which a client looks for skills. Each subfolder is one skill. */
export interface SkillFolders {
  /** Relative to the home folder. */
  readonly user: string;
  /** Relative to the folder of a project. */
  readonly project: string;
}

/** Link with the name and the entry of a server. */
interface InstallLink {
  /** URL up to the query. */
  readonly url: string;
  /** `base64`: parameters `name` and `config`, the entry as base64. `json`: the query is one JSON object with `name`. */
  readonly query: 'base64' | 'json';
}

/** Entry of a client that connects to URLs. */
export interface UrlEntry {
  readonly urlKey: string;
  /** Key of the URL for the older HTTP+SSE transport; absent when it is `urlKey`. */
  readonly sseUrlKey?: string;
  /** Member that names the transport. */
  readonly transport?: { readonly key: string; readonly sse: string; readonly http: string };
  /** True: the entry of a member has its name in `name` too. */
  readonly hasName?: boolean;
  /** Further members that the client requires. */
  readonly extra?: Readonly<Record<string, EntryValue>>;
}

type EntryValue = string | number | boolean | readonly string[];

/** Server in a configuration file. */
export type ClientEntry = Readonly<Record<string, EntryValue>>;

/** Virtual server to connect to. */
export interface ClientEndpoint {
  readonly name: string;
  readonly url: string;
}

/** Returns the entry of an endpoint in the configuration file of a client. */
export function clientEntry(client: McpClient, { name, url }: ClientEndpoint): ClientEntry {
  const { entry, isList = false } = client;
  if (entry === 'mcp-remote') return bridgeTo(url);
  const { urlKey, sseUrlKey = urlKey, transport, hasName = isList, extra } = entry;
  const isSse = isSseUrl(url);
  return {
    ...(hasName && { name }),
    ...(transport && { [transport.key]: isSse ? transport.sse : transport.http }),
    [isSse ? sseUrlKey : urlKey]: url,
    ...extra,
  };
}

/** Returns true for the URL of the older HTTP+SSE transport. */
const isSseUrl = (url: string): boolean => /\/sse\/?$/u.test(new URL(url).pathname);

/** Starts mcp-remote, which refuses http URLs without `--allow-http`. */
const bridgeTo = (url: string): ClientEntry => ({
  command: 'npx',
  args: ['-y', 'mcp-remote', url, ...(url.startsWith('http:') ? ['--allow-http'] : [])],
});

/** Returns the URL that an entry of a file points at; undefined when it starts a program of its own. */
export function urlOf({ entry }: McpClient, value: unknown): string | undefined {
  const members: Readonly<Record<string, unknown>> = typeof value === 'object' && value !== null ? { ...value } : {};
  const texts =
    entry === 'mcp-remote'
      ? [members['args']].flat()
      : [members[entry.urlKey], ...(entry.sseUrlKey === undefined ? [] : [members[entry.sseUrlKey]])];
  return texts.find((text): text is string => typeof text === 'string' && /^https?:/u.test(text));
}

/** Returns the link that opens a client and offers to add an endpoint; undefined for a client without such links. */
export function installLink(client: McpClient, endpoint: ClientEndpoint): string | undefined {
  const { link } = client;
  if (!link) return undefined;
  const entry = clientEntry(client, endpoint);
  if (link.query === 'json') {
    const text = JSON.stringify({ name: endpoint.name, ...entry });
    return `${link.url}?${encodeURIComponent(text.replaceAll('%', String.raw`\u0025`))}`; // VS Code decodes the query twice
  }
  const config = Buffer.from(JSON.stringify(entry)).toString('base64');
  return `${link.url}?name=${encodeURIComponent(endpoint.name)}&config=${encodeURIComponent(config)}`;
}

/** Returns the words of the client's own command that adds an endpoint; undefined for a client without such a command. */
export function addCommand(
  { addCommand: command }: McpClient,
  { name, url }: ClientEndpoint,
): readonly string[] | undefined {
  const values: Readonly<Record<string, string>> = {
    '{name}': name,
    '{url}': url,
    '{transport}': isSseUrl(url) ? 'sse' : 'http',
  };
  return command?.split(' ').map((word) => values[word] ?? word);
}
