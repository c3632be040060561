import { parse, TomlError } from 'smol-toml';
import { isObject, type JsonObject } from '../../../gateway/contract/json.ts';
import type { ClientFile } from './client-entry.ts';

/** Table of a server, or a key of one: `[mcp_servers.NAME]`, `mcp_servers.NAME.command = "npx"`. */
const SERVERS = /^[ \t]*(?:\[[ \t]*)?mcp_servers[ \t]*[.=\]]/mu;

/** Returns true for the text of a configuration of Codex with servers, even if it has mistakes. */
export const isCodexFile = (text: string): boolean => SERVERS.test(text);

/** Returns true for TOML that sets something, such as a configuration of Codex without servers. */
export function isToml(text: string): boolean {
  const data = parsed(text);
  return typeof data !== 'number' && Object.keys(data).length > 0;
}

/** Reads the servers of Codex: the tables `[mcp_servers.NAME]` of its TOML. */
export function readCodexFile(text: string): ClientFile {
  const data = parsed(text);
  if (typeof data === 'number') {
    const message = 'this is not TOML: check quotes and brackets, and that no key is used twice';
    return { fault: { line: data, message } };
  }
  const { mcp_servers: servers } = data;
  const entries = isObject(servers) ? Object.entries(servers).map(([name, value]) => ({ name, value })) : [];
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
