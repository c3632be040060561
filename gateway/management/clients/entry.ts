import type { McpClient, ClientEndpoint, ClientEntry } from './client.ts';

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
