import { parse, TomlError } from 'smol-toml';
import type { JsonObject } from '../../../../gateway/contract/json.ts';
import type { ClientFile } from '../client-entry.ts';
import { entriesAt, placesIn } from './server-places.ts';

/** Table of a server, or a key of such a table: `[mcp_servers.NAME]`, `[[mcp_servers]]`, `mcp_servers.NAME.command = "npx"`. */
const SERVERS = /^[ \t]*(?:\[{1,2}[ \t]*)?mcp_servers[ \t]*[.=\]]/mu;

/** Returns true for the text of a configuration of Codex or Mistral Vibe with servers, even if it has mistakes. */
export const isCodexFile = (text: string): boolean => SERVERS.test(text);

/** Returns true for TOML that sets something, such as a configuration of Codex without servers. */
export function isToml(text: string): boolean {
  const data = parsed(text);
  return typeof data !== 'number' && Object.keys(data).length > 0;
}

/** Reads the servers of Codex, the tables `[mcp_servers.NAME]`, and of Mistral Vibe, the list `[[mcp_servers]]`. */
export function readCodexFile(text: string): ClientFile {
  const data = parsed(text);
  if (typeof data === 'number') {
    const message = 'this is not TOML: check quotes and brackets, and that no key is used twice';
    return { fault: { line: data, message } };
  }
  const entries = placesIn(data, 'toml').flatMap((place) => entriesAt(data, place));
  return entries.length > 0 ? { entries } : { fault: { message: 'its table mcp_servers has no server' } };
}

/** Returns the document, or the line of a mistake. */
function parsed(text: string): JsonObject | number {
  try {
    return parse(text, { integersAsBigInt: 'asNeeded' });
  } catch (error) {
    if (error instanceof TomlError) return error.line;
    throw error;
  }
}
