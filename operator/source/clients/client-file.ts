import type { ClientFile } from './client-entry.ts';
import { isCodexFile, isToml, readCodexFile } from './formats/codex-file.ts';
import { isJsonClientFile, readJsonFile } from './formats/json-file.ts';
import { readYamlFile } from './formats/yaml-file.ts';

/** Maximum size of a client's file. Claude Code keeps the history of each project in the file of its servers. */
export const MAX_CLIENT_FILE_BYTES = 100 * 1024 * 1024;

/** Beginning of JSON, which is neither TOML nor YAML. A list in brackets may be the head of a table. */
const JSON_START = /^\s*(?:\{|\/[/*])/u;

/** Reads the servers of a client's file: the TOML of Codex and Mistral Vibe, the YAML of Goose and Continue, else JSON. */
export function readClientFile(text: string): ClientFile {
  if (text.trim() === '') return { fault: { message: 'the file is empty' } };
  if (JSON_START.test(text)) return readJsonFile(text);
  if (isCodexFile(text)) return readCodexFile(text);
  if (isToml(text)) return { fault: { message: 'there are no servers: Codex lists them in [mcp_servers.NAME]' } };
  return readYamlFile(text) ?? readJsonFile(text);
}

/** Returns true for the text of a client's file, even if it has mistakes. */
export const isClientFile = (text: string): boolean =>
  isCodexFile(text) || readYamlFile(text) !== undefined || isJsonClientFile(text);
