import type { Client, Endpoint, Entry } from './client.ts';

/** Returns the entry of an endpoint in the configuration file of a client. */
export function entryOf(client: Client, { name, url }: Endpoint): Entry {
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
export const isSseUrl = (url: string): boolean => /\/sse\/?$/u.test(new URL(url).pathname);

/** Starts mcp-remote, which refuses http URLs without `--allow-http`. */
const bridgeTo = (url: string): Entry => ({
  command: 'npx',
  args: ['-y', 'mcp-remote', url, ...(url.startsWith('http:') ? ['--allow-http'] : [])],
});

/** Returns the URL that an entry of a file points at; undefined when it starts a program of its own. */
export function urlOf({ entry }: Client, value: unknown): string | undefined {
  const members: Readonly<Record<string, unknown>> = typeof value === 'object' && value !== null ? { ...value } : {};
  const texts =
    entry === 'mcp-remote'
      ? [members['args']].flat()
      : [members[entry.urlKey], ...(entry.sseUrlKey === undefined ? [] : [members[entry.sseUrlKey]])];
  return texts.find((text): text is string => typeof text === 'string' && /^https?:/u.test(text));
}
