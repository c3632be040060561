import type { ClientFile } from './client-entry.ts';
import { isCodexFile, isToml, readCodexFile } from './formats/codex-file.ts';
import { isJsonClientFile, readJsonFile } from './formats/json-file.ts';
import { readYamlFile } from './formats/yaml-file.ts';

/** Maximum size of a client's file. */
export const MAX_CLIENT_FILE_BYTES = 1024 * 1024;

/** Reads the servers of a client's file: the TOML of Codex and Mistral Vibe, the YAML of Goose and Continue, else JSON. */
export function readClientFile(text: string): ClientFile {
  if (text.trim() === '') return { fault: { message: 'the file is empty' } };
  if (isCodexFile(text)) return readCodexFile(text);
  if (isToml(text)) return { fault: { message: 'there are no servers: Codex lists them in [mcp_servers.NAME]' } };
  return readYamlFile(text) ?? readJsonFile(text);
}

/** Returns true for the text of a client's file, even if it has mistakes. */
export const isClientFile = (text: string): boolean => isCodexFile(text) || isJsonClientFile(text);
