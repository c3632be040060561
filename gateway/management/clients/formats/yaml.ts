import {
  isCollection,
  isMap,
  isNode,
  isPair,
  isScalar,
  parseDocument,
  stringify,
  type Pair,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml';
import type { ClientEntry } from '../client.ts';
import {
  type Format,
  type ParsedFile,
  type ServersPlace,
  appendLines,
  cut,
  cutLines,
  endOfLineBefore,
  lineBreakOf,
  lineEnd,
  lineStart,
  insertAt,
} from './format.ts';

/** YAML. Only block style can be edited, and flow style inside of the servers. */
export const yaml: Format = { parse, insert, remove };

/** Indentation of servers below a key that `insert` adds. `remove` removes such a key with its last server. */
const NEW_KEY_INDENT = 2;
/** Indentation of servers below a key that was empty before. `remove` leaves the key. */
const EMPTY_KEY_INDENT = 4;

function parse(text: string): ParsedFile {
  const document = parseDocument(text);
  const [first] = document.errors;
  if (first) return { line: first.linePos?.[0].line ?? 1, message: `not valid YAML (${first.code})` };
  try {
    return { data: (document.toJS() as unknown) ?? {} };
  } catch {
    return { line: 1, message: 'not valid YAML (too many aliases)' };
  }
}

function insert(text: string, place: ServersPlace, name: string, entry: ClientEntry): string | undefined {
  const root = parseDocument(text).contents;
  const lines = (indent: number): string => linesOf(place, name, entry, indent, lineBreakOf(text));
  const pair = isMap(root) ? pairOf(root, place.key) : undefined;
  if (!pair) {
    const canAppend = root === null || (isScalar(root) && root.value === null) || (isMap(root) && root.flow !== true);
    return canAppend ? appendLines(text, `${place.key}:${lines(NEW_KEY_INDENT)}`) : undefined;
  }
  const { value } = pair;
  const keyEnd = offsetsOf(pair.key)[1];
  if (isCollection(value) && value.flow === true) return insertIntoFlow(text, value, name, entry);
  const atLineEnd = (added: string): string => insertAt(text, lineEnd(text, keyEnd), added);
  if (isCollection(value)) return atLineEnd(lines(columnOf(text, firstOf(value))));
  return /^\s*:[ \t]*(?:#.*)?$/u.test(text.slice(keyEnd, lineEnd(text, keyEnd)))
    ? atLineEnd(lines(EMPTY_KEY_INDENT))
    : undefined;
}

function remove(text: string, place: ServersPlace, name: string): string | undefined {
  const root = parseDocument(text).contents;
  const pair = isMap(root) ? pairOf(root, place.key) : undefined;
  const servers = pair?.value;
  if (!pair || !isCollection(servers)) return undefined;
  const item = servers.items.find((one) => itemName(one) === name);
  if (item === undefined) return undefined;
  const [start, end] = [startOf(item), endOf(item)];
  if (servers.flow === true) return cutFlowItem(text, start, end);
  const keyStart = offsetsOf(pair.key)[0];
  const gap = text.slice(offsetsOf(pair.key)[1], lineStart(text, start));
  const isOwnKey = servers.items.length === 1 && /^:\r?\n$/u.test(gap) && columnOf(text, start) === NEW_KEY_INDENT;
  if (isOwnKey) return cutLines(text, keyStart, end);
  return cut(text, endOfLineBefore(text, lineStart(text, start)), end);
}

/** Renders a server, each line with a line break before it. */
function linesOf(
  { isList }: ServersPlace,
  name: string,
  entry: ClientEntry,
  indent: number,
  lineBreak: string,
): string {
  const block = stringify(isList ? [entry] : { [name]: entry }, { lineWidth: 0 }).trimEnd();
  return block
    .split('\n')
    .map((line) => `${lineBreak}${' '.repeat(indent)}${line}`)
    .join('');
}

/** Adds the server as the first item between the brackets. */
function insertIntoFlow(text: string, servers: YAMLMap | YAMLSeq, name: string, entry: ClientEntry): string {
  const open = offsetsOf(servers)[0] + 1;
  const item = isMap(servers) ? `${JSON.stringify(name)}: ${JSON.stringify(entry)}` : JSON.stringify(entry);
  return insertAt(text, open, servers.items.length > 0 ? `${item},` : item);
}

function cutFlowItem(text: string, start: number, end: number): string {
  if (text[end] === ',') return cut(text, start, end + 1);
  const before = /,\s*$/u.exec(text.slice(0, start))?.[0].length ?? 0;
  return cut(text, start - before, end);
}

const pairOf = (map: YAMLMap, key: string): Pair | undefined =>
  map.items.find((pair) => isScalar(pair.key) && pair.key.value === key);

/** Returns the name of a server: its key, or its member `name` in a list. */
function itemName(item: unknown): unknown {
  if (isPair(item)) return isScalar(item.key) ? item.key.value : undefined;
  return isMap(item) ? item.get('name') : undefined;
}

const firstOf = (servers: YAMLMap | YAMLSeq): number => startOf(servers.items[0]);

const offsetsOf = (node: unknown): readonly [number, number] => {
  const range = isNode(node) ? node.range : undefined;
  return range ? [range[0], range[1]] : [0, 0];
};

const startOf = (item: unknown): number => offsetsOf(isPair(item) ? item.key : item)[0];

/** Returns the end of the last scalar: the range of a block includes the comments behind it. */
function endOf(item: unknown): number {
  if (isPair(item))
    return isNode(item.value) && offsetsOf(item.value)[1] > 0 ? endOf(item.value) : offsetsOf(item.key)[1];
  if (isCollection(item) && item.flow !== true) return endOf(item.items.at(-1));
  return offsetsOf(item)[1];
}

/** Returns the column of a server: of its key, or of the hyphen before a list item. */
const columnOf = (text: string, offset: number): number =>
  /^[ ]*/u.exec(text.slice(lineStart(text, offset)))?.[0].length ?? 0;
