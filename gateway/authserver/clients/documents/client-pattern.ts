import { isClientIdUrl, namesHost } from './client-id-url.ts';

/** Captures scheme, host with port, and the rest. */
const URL_PARTS = /^(https?:\/\/)([^/?#]+)(\/.*)$/u;

/**
 * Returns true for a client that the entry of a rule names: by its client id, by the host of its metadata document (`HOST`, or
 * `*.DOMAIN` for all subdomains), or by a URL with `*` in its path for any characters. Client ids of documents may differ for each
 * MCP server, so that exact ids alone would not do.
 */
export function matchesClient(entry: string, clientId: string): boolean {
  if (entry === clientId) return true;
  if (!isClientIdUrl(clientId)) return false;
  const [, scheme = '', host = '', rest = ''] = URL_PARTS.exec(clientId) ?? [];
  if (!entry.includes('://')) return scheme === 'https://' && entry.includes('.') && namesHost(entry, host);
  const [, ownScheme, ownHost = '', pattern = ''] = URL_PARTS.exec(entry) ?? [];
  return ownScheme === scheme && ownHost === host && matchesText(pattern, rest);
}

/** Compares a text with a pattern in which `*` stands for any characters. Takes linear time for each `*`. */
function matchesText(pattern: string, text: string): boolean {
  const [first = '', ...others] = pattern.split('*');
  const last = others.pop();
  if (last === undefined) return text === first;
  if (!text.startsWith(first) || text.length < first.length + last.length || !text.endsWith(last)) return false;
  let from = first.length;
  const end = text.length - last.length;
  for (const part of others) {
    const at = text.indexOf(part, from);
    if (at === -1 || at + part.length > end) return false;
    from = at + part.length;
  }
  return true;
}
