import { parse, printParseErrorCode, visit, type JSONPath, type ParseError } from 'jsonc-parser';
import { isMap, isScalar, parseDocument, type Document } from 'yaml';
import { parse as parseToml, TomlError } from 'smol-toml';
import type { ClientFile, Fault } from './server-spec.ts';
import { quoted } from './texts.ts';
import { bareEntries, entriesAt, placesIn } from './server-places.ts';
import type { JsonObject } from '../../../gateway/contract/json.ts';

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

/** Messages about syntax. They quote nothing, because a file may contain secrets. */
const SYNTAX: Readonly<Record<string, string>> = {
  CommaExpected: 'a comma is missing before this place',
  ColonExpected: 'a colon is missing after a name',
  CloseBraceExpected: 'a "}" is missing',
  CloseBracketExpected: 'a "]" is missing',
  UnexpectedEndOfString: 'a closing quote is missing',
  PropertyNameExpected: 'a name in double quotes is missing',
  ValueExpected: 'a value is missing',
  InvalidSymbol: 'a text is not in double quotes',
  InvalidEscapeCharacter: 'a backslash in a text must be written twice',
  EndOfFileExpected: 'there is text after the end of the object',
};

const OPTIONS = { allowTrailingComma: true };

/** Reads the servers of a client's file: JSON that may contain comments and trailing commas. */
function readJsonFile(text: string): ClientFile {
  try {
    return readJson(text);
  } catch (error) {
    // The parser calls itself for each level, so that deep input exhausts the stack.
    if (error instanceof RangeError) return { fault: { message: 'nested too deeply' } };
    throw error;
  }
}

function readJson(text: string): ClientFile {
  const errors: ParseError[] = [];
  const root = plainJson(text) ?? (parse(text, errors, OPTIONS) as unknown);
  const [error] = errors;
  if (error) {
    const hint = SYNTAX[printParseErrorCode(error.error)] ?? 'check quotes, commas and brackets';
    return { fault: { line: lineAt(text, error.offset), message: `this is not JSON: ${hint}` } };
  }
  const places = placesIn(root, 'json');
  const duplicate = duplicateKey(
    text,
    places.map(({ path }) => path),
  );
  if (duplicate) return { fault: duplicate };
  const entries = places.length > 0 ? places.flatMap((place) => entriesAt(root, place)) : bareEntries(root);
  if (entries.length > 0) return { entries };
  if (places.length > 0) return { fault: { message: 'its list of servers is empty' } };
  return { fault: { message: 'there are no servers: a client lists them in mcpServers or servers' } };
}

/** Returns the value of JSON without comments, in a tenth of the time; undefined for any other text. */
function plainJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Returns true for the text of a client's file, even if it has mistakes. It may have comments, which YAML does not read as such. */
function isJsonClientFile(text: string): boolean {
  try {
    return placesIn(parse(text, [], OPTIONS), 'json').length > 0;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

/** Finds a key that an object of the servers has twice. */
function duplicateKey(text: string, places: readonly (readonly string[])[]): Fault | undefined {
  const open: Map<string, number>[] = [];
  let fault: Fault | undefined;
  visit(
    text,
    {
      onObjectBegin: (_offset, _length, _line, _character, pathOf) => {
        open.push(new Map());
        return places.some((place) => meets(pathOf(), place));
      },
      onObjectEnd: () => {
        open.pop();
      },
      onObjectProperty: (name, _offset, _length, line, _character, pathOf) => {
        const seen = open.at(-1);
        const first = seen?.get(name);
        seen?.set(name, line);
        if (first === undefined || fault || !places.some((place) => isWithin(pathOf(), place))) return;
        const message = `duplicate key ${quoted(name)}, first used in line ${String(first + 1)}: keep one of them`;
        fault = { line: line + 1, message };
      },
    },
    OPTIONS,
  );
  return fault;
}

/** Returns true for a path on the way to a place, or within it. */
const meets = (path: JSONPath, place: readonly string[]): boolean =>
  path.every((name, index) => index >= place.length || name === place[index]);

const isWithin = (path: JSONPath, place: readonly string[]): boolean =>
  path.length >= place.length && place.every((name, index) => path[index] === name);

const lineAt = (text: string, offset: number): number => text.slice(0, offset).split('\n').length;

/** First keys of the servers of Goose, Continue and others. */
const KEYS = ['extensions', 'mcpServers', 'mcp'];

/** Reads the servers of a client's file in YAML; undefined for a text without these keys. */
function readYamlFile(text: string): ClientFile | undefined {
  if (/^\s*(?:[{["]|\/[/*])/u.test(text)) return undefined;
  const document = parseDocument(text);
  const { contents, errors } = document;
  if (!isMap(contents) || !contents.items.some(({ key }) => isScalar(key) && KEYS.includes(String(key.value))))
    return undefined;
  const [error] = errors;
  if (error) {
    const line = error.linePos?.[0].line;
    return { fault: { ...(line !== undefined && { line }), message: `this is not YAML (${error.code})` } };
  }
  const root = valueOf(document);
  const places = placesIn(root, 'yaml');
  const entries = places.flatMap((place) => entriesAt(root, place));
  return entries.length > 0 ? { entries } : { fault: { message: 'its list of servers is empty' } };
}

/** Returns the document as data; undefined when its aliases expand too far. */
function valueOf(document: Document): unknown {
  try {
    return document.toJS();
  } catch {
    return undefined;
  }
}

/** Table of a server, or a key of such a table: `[mcp_servers.NAME]`, `[[mcp_servers]]`, `mcp_servers.NAME.command = "npx"`. */
const SERVERS = /^[ \t]*(?:\[{1,2}[ \t]*)?mcp_servers[ \t]*[.=\]]/mu;

/** Returns true for the text of a configuration of Codex or Mistral Vibe with servers, even if it has mistakes. */
const isCodexFile = (text: string): boolean => SERVERS.test(text);

/** Returns true for TOML that sets something, such as a configuration of Codex without servers. */
function isToml(text: string): boolean {
  const data = parsed(text);
  return typeof data !== 'number' && Object.keys(data).length > 0;
}

/** Reads the servers of Codex, the tables `[mcp_servers.NAME]`, and of Mistral Vibe, the list `[[mcp_servers]]`. */
function readCodexFile(text: string): ClientFile {
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
    return parseToml(text, { integersAsBigInt: 'asNeeded' });
  } catch (error) {
    if (error instanceof TomlError) return error.line;
    throw error;
  }
}
