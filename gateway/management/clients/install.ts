import type { Client, Endpoint } from './client.ts';
import { entryOf, isSseUrl } from './entry.ts';

/** Returns the link that opens a client and offers to add an endpoint; undefined for a client without such links. */
export function installLink(client: Client, endpoint: Endpoint): string | undefined {
  const { link } = client;
  if (!link) return undefined;
  const entry = entryOf(client, endpoint);
  if (link.query === 'json') {
    const text = JSON.stringify({ name: endpoint.name, ...entry });
    return `${link.url}?${encodeURIComponent(text.replaceAll('%', String.raw`\u0025`))}`; // VS Code decodes the query twice
  }
  const config = Buffer.from(JSON.stringify(entry)).toString('base64');
  return `${link.url}?name=${encodeURIComponent(endpoint.name)}&config=${encodeURIComponent(config)}`;
}

/** Returns the words of the client's own command that adds an endpoint; undefined for a client without such a command. */
export function addCommand({ addCommand: command }: Client, { name, url }: Endpoint): readonly string[] | undefined {
  const values: Readonly<Record<string, string>> = {
    '{name}': name,
    '{url}': url,
    '{transport}': isSseUrl(url) ? 'sse' : 'http',
  };
  return command?.split(' ').map((word) => values[word] ?? word);
}
