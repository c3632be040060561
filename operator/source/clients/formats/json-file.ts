import { parse, printParseErrorCode, visit, type JSONPath, type ParseError } from 'jsonc-parser';
import type { ClientFile, Fault } from '../client-entry.ts';
import { quoted } from '../quoted.ts';
import { bareEntries, entriesAt, placesIn } from './server-places.ts';

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
export function readJsonFile(text: string): ClientFile {
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
export function isJsonClientFile(text: string): boolean {
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
