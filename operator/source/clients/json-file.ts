import {
  findNodeAtLocation,
  getNodeValue,
  parseTree,
  printParseErrorCode,
  type Node,
  type ParseError,
} from 'jsonc-parser';
import type { ClientFile, Fault } from './client-entry.ts';
import { quoted } from './quoted.ts';

/** Members of clients' files that hold the servers. `mcp.servers` is that of the settings of VS Code. */
const PLACES: readonly (readonly string[])[] = [
  ['mcpServers'],
  ['servers'],
  ['mcp', 'servers'],
  ['mcp.servers'],
  ['context_servers'],
];

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

/** Reads the servers of a client's file: JSON that may contain comments and trailing commas. */
export function readJsonFile(text: string): ClientFile {
  const errors: ParseError[] = [];
  const root = parse(text, errors);
  if (root === 'too deep') return { fault: { message: 'nested too deeply' } };
  const [error] = errors;
  if (error) {
    const hint = SYNTAX[printParseErrorCode(error.error)] ?? 'check quotes, commas and brackets';
    return { fault: { line: lineAt(text, error.offset), message: `this is not JSON: ${hint}` } };
  }
  const servers = serversOf(root);
  if (!servers) return { fault: { message: 'there are no servers: a client lists them in mcpServers or servers' } };
  const duplicate = duplicateKey(servers);
  if (duplicate) return { fault: duplicateFault(text, duplicate) };
  const entries = Object.entries(getNodeValue(servers) as Record<string, unknown>);
  if (entries.length === 0) return { fault: { message: 'its list of servers is empty' } };
  return { entries: entries.map(([name, value]) => ({ name, value })) };
}

/** Returns true for the text of a client's file, even if it has mistakes. It may have comments, which YAML does not read as such. */
export function isJsonClientFile(text: string): boolean {
  const root = parse(text, []);
  return root !== 'too deep' && serversOf(root) !== undefined;
}

const serversOf = (root: Node | undefined): Node | undefined =>
  PLACES.map((path) => root && findNodeAtLocation(root, [...path])).find((node) => node?.type === 'object');

/** Parses JSON with comments. The parser calls itself for each level, so that deep input exhausts the stack. */
function parse(text: string, errors: ParseError[]): Node | undefined | 'too deep' {
  try {
    return parseTree(text, errors, { allowTrailingComma: true });
  } catch (error) {
    if (error instanceof RangeError) return 'too deep';
    throw error;
  }
}

interface Duplicate {
  readonly first: Node;
  readonly second: Node;
}

function duplicateKey(node: Node): Duplicate | undefined {
  const seen = new Map<string, Node>();
  for (const child of node.children ?? []) {
    const [key] = child.type === 'property' ? (child.children ?? []) : [];
    const first = key && seen.get(String(key.value));
    if (key && first) return { first, second: key };
    if (key) seen.set(String(key.value), key);
    const below = duplicateKey(child);
    if (below) return below;
  }
  return undefined;
}

function duplicateFault(text: string, { first, second }: Duplicate): Fault {
  const line = String(lineAt(text, first.offset));
  const message = `duplicate key ${quoted(String(second.value))}, first used in line ${line}: keep one of them`;
  return { line: lineAt(text, second.offset), message };
}

const lineAt = (text: string, offset: number): number => text.slice(0, offset).split('\n').length;
