import { getNodeValue, parseTree, printParseErrorCode, type Node, type ParseError } from 'jsonc-parser';
import type { Format, Parsed, Place } from './format.ts';
import { cutMember, insertMember, isPlainGap, memberOf } from './json-members.ts';
import { appendLines, cutLines, lineAt, lineBreakOf } from './lines.ts';
import type { Entry } from '../client.ts';

/** JSON, also with comments and trailing commas. */
export const jsonc: Format = { parse, insert, remove };

const DEFAULT_INDENT = '  ';

function parse(text: string): Parsed {
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { allowTrailingComma: true, allowEmptyContent: true });
  const [first] = errors;
  if (!first) return { data: root ? getNodeValue(root) : {} };
  return { line: lineAt(text, first.offset), message: `not valid JSON (${printParseErrorCode(first.error)})` };
}

const treeOf = (text: string): Node | undefined => parseTree(text, [], { allowTrailingComma: true });

/**
 * Adds the server as the last member. A new object of servers has a layout of its own: `remove` removes it too.
 * An object that was empty before keeps its braces on the line of the new member, and `remove` leaves it.
 */
function insert(text: string, { key }: Place, name: string, entry: Entry): string | undefined {
  const root = treeOf(text);
  const unit = unitOf(text, root);
  if (!root) {
    const document = JSON.stringify({ [key]: { [name]: entry } }, undefined, unit);
    return appendLines(text, document.replaceAll('\n', lineBreakOf(text)));
  }
  if (root.type !== 'object') return undefined;
  const servers = memberOf(root, key)?.value;
  if (servers === undefined) return insertMember(text, root, key, { [name]: entry }, unit);
  return servers.type === 'object' ? insertMember(text, servers, name, entry, unit) : undefined;
}

function remove(text: string, { key }: Place, name: string): string | undefined {
  const root = treeOf(text);
  const servers = memberOf(root, key);
  const server = memberOf(servers?.value, name);
  if (!root || !servers || !server) return undefined;
  if (!isCreated(text, servers.value)) return cutMember(text, servers.value, server.property);
  return isCreated(text, root) && isPlainGap(text, root.offset + 1, servers.property.offset) === 'lines'
    ? cutLines(text, root.offset, root.offset + root.length)
    : cutMember(text, root, servers.property);
}

/** Returns true for an object with one member in the layout of an object that `insert` creates. */
function isCreated(text: string, object: Node): boolean {
  const [only, ...others] = object.children ?? [];
  if (!only || others.length > 0) return false;
  const before = isPlainGap(text, object.offset + 1, only.offset);
  return (
    before !== undefined && before === isPlainGap(text, only.offset + only.length, object.offset + object.length - 1)
  );
}

/** Returns the indentation of the first member that starts a line. */
function unitOf(text: string, root: Node | undefined): string {
  const indents = (root?.children ?? []).map(({ offset }) => /(?:^|\n)([ \t]+)$/u.exec(text.slice(0, offset))?.[1]);
  return indents.find((indent) => indent !== undefined) ?? DEFAULT_INDENT;
}
