import { getNodeValue, parseTree, printParseErrorCode, type Node, type ParseError } from 'jsonc-parser';
import type { ClientEntry } from '../client.ts';
import {
  type Format,
  type ParsedFile,
  type ServersPlace,
  appendLines,
  cut,
  cutLines,
  endOfLineBefore,
  lineAt,
  lineBreakOf,
  lineStart,
  insertAt,
} from './format.ts';

/** JSON, also with comments and trailing commas. */
export const jsonc: Format = { parse, insert, remove };

const DEFAULT_INDENT = '  ';

function parse(text: string): ParsedFile {
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
function insert(text: string, { key }: ServersPlace, name: string, entry: ClientEntry): string | undefined {
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

function remove(text: string, { key }: ServersPlace, name: string): string | undefined {
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

/** Member of an object in the text. */
interface Member {
  readonly property: Node;
  readonly value: Node;
}

/** Returns the member that JSON parsers read: the last with its name. */
function memberOf(object: Node | undefined, key: string): Member | undefined {
  const property = object?.children?.findLast(({ children }) => children?.[0]?.value === key);
  const value = property?.children?.[1];
  return property && value && { property, value };
}

/** Describes the text between two offsets: a line break and indentation, one space, or neither. */
function isPlainGap(text: string, start: number, end: number): 'lines' | 'space' | undefined {
  const gap = text.slice(start, end);
  if (/^\r?\n[ \t]*$/u.test(gap)) return 'lines';
  return gap === ' ' ? 'space' : undefined;
}

/** Adds a member behind the last member. `unit` is one level of indentation. */
function insertMember(text: string, object: Node, key: string, value: object, unit: string): string {
  const last = object.children?.at(-1);
  const open = object.offset + 1;
  const inside = text.slice(open, object.offset + object.length - 1);
  if (!last) {
    if (inside.trim() === '') return insertAt(text, open, memberText(key, value));
    const { end, isLine } = commentsAfter(text, open);
    const breaks = isLine || inside.includes('\n');
    return insertAt(
      text,
      end,
      newMember(text, breaks ? indentAt(text, object.offset) + unit : undefined, key, value, unit),
    );
  }
  const lastEnd = last.offset + last.length;
  const comma = commaAfter(text, lastEnd);
  const { end, isLine } = commentsAfter(text, comma === undefined ? lastEnd : comma + 1);
  const indent = indentAt(text, last.offset);
  const startsLine = lineStart(text, last.offset) + indent.length === last.offset;
  const ownIndent = startsLine ? indent : isLine ? indent + unit : undefined;
  const added = newMember(text, ownIndent, key, value, unit);
  return comma === undefined ? insertAt(insertAt(text, end, added), lastEnd, ',') : insertAt(text, end, `${added},`); // keeps the style of trailing commas
}

/** Reverts `insertMember`: removes a member with its comma and the white space before it. */
function cutMember(text: string, object: Node, property: Node): string {
  const start = property.offset;
  const end = start + property.length;
  const lead = leadOf(text, start);
  const after = commaAfter(text, end);
  if (after !== undefined) return cut(cut(text, after, after + 1), lead, end);
  const siblings = object.children ?? [];
  const previous = siblings[siblings.indexOf(property) - 1];
  const without = cut(text, lead, end);
  const before = previous && commaAfter(text, previous.offset + previous.length);
  return before === undefined ? without : cut(without, before, before + 1);
}

/** Returns the start of the white space before a member, which has at most one line break. */
function leadOf(text: string, start: number): number {
  const line = lineStart(text, start);
  const before = text.slice(line, start).trimEnd();
  return before === '' ? endOfLineBefore(text, line) : line + before.length;
}

/** Renders a member on lines of its own with `indent`, or on the same line without. */
function newMember(text: string, indent: string | undefined, key: string, value: object, unit: string): string {
  if (indent === undefined) return ` ${memberText(key, value)}`;
  const lines = JSON.stringify(value, undefined, unit).split('\n');
  const end = lineBreakOf(text);
  return `${end}${indent}${JSON.stringify(key)}: ${lines.join(`${end}${indent}`)}`;
}

/** Renders a member on one line. */
const memberText = (key: string, value: object): string =>
  `${JSON.stringify(key)}: ${JSON.stringify(value, undefined, 1).replaceAll(/\n */gu, ' ')}`;

const indentAt = (text: string, offset: number): string =>
  /^[ \t]*/u.exec(text.slice(lineStart(text, offset), offset))?.[0] ?? '';

const COMMENT = /\/\/[^\r\n]*|\/\*[\s\S]*?\*\//uy;

/** Returns the offset of the comma that follows, behind white space and comments. */
function commaAfter(text: string, offset: number): number | undefined {
  let at = offset;
  for (;;) {
    at += /^\s*/u.exec(text.slice(at))?.[0].length ?? 0;
    COMMENT.lastIndex = at;
    const comment = COMMENT.exec(text)?.[0];
    if (comment === undefined) return text[at] === ',' ? at : undefined;
    at += comment.length;
  }
}

/** Returns the end of the comments that follow on the same line. `isLine`: the last comment ends with its line. */
function commentsAfter(text: string, offset: number): { readonly end: number; readonly isLine: boolean } {
  let end = offset;
  for (;;) {
    const comment = /^[ \t]*(?:\/\/[^\r\n]*|\/\*(?:[^*\r\n]|\*(?!\/))*\*\/)/u.exec(text.slice(end))?.[0];
    if (comment === undefined) return { end, isLine: false };
    end += comment.length;
    if (comment.trimStart().startsWith('//')) return { end, isLine: true };
  }
}
