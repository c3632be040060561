import { parse as parseToml, stringify, TomlError } from 'smol-toml';
import type { ClientEntry } from '../client.ts';
import { type Format, type ParsedFile, type ServersPlace, cut, lineBreakOf, insertAt } from './format.ts';

/**
 * TOML. Each server is a table with a header of its own: `[key.name]`, or `[[key]]` in a list. A list in brackets, such as
 * `key = []`, gets an inline table.
 */
export const toml: Format = { parse, insert, remove };

function parse(text: string): ParsedFile {
  try {
    return { data: parseToml(text, { integersAsBigInt: 'asNeeded' }) };
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    return { line: error.line, message: 'not valid TOML' };
  }
}

/** Appends the table behind a blank line. */
function insert(text: string, { key, isList }: ServersPlace, name: string, entry: ClientEntry): string {
  const open = isList ? openingBracketOf(text, key) : undefined;
  if (open !== undefined) {
    const isFirst = itemsOf(text, key).length === 0;
    return insertAt(text, open, isFirst ? inlineTable(entry) : `${inlineTable(entry)},`);
  }
  const end = lineBreakOf(text);
  const table = stringify({ [key]: isList ? [entry] : { [name]: entry } })
    .trim()
    .replaceAll('\n', end);
  if (text === '') return table + end;
  return text.endsWith('\n') ? text + end + table + end : text + end + end + table;
}

function remove(text: string, place: ServersPlace, name: string): string | undefined {
  const open = place.isList ? openingBracketOf(text, place.key) : undefined;
  if (open !== undefined) return cutInlineItem(text, open, itemsOf(text, place.key), name);
  const tables = tablesOf(text);
  const own = place.isList
    ? itemOf(text, tables, place.key, name)
    : tables.filter(({ path }) => isBelow(path, [place.key, name]));
  if (own.length === 0) return undefined;
  return own.toReversed().reduce((rest, table) => cutTable(rest, table), text);
}

interface Table {
  readonly path: readonly string[];
  /** True for `[[key]]`. */
  readonly isItem: boolean;
  readonly start: number;
  /** Before the line break of its last setting. */
  readonly end: number;
}

/** Finds the tables by their headers. Lines of a multi-line string can look like headers: callers check the result. */
function tablesOf(text: string): Table[] {
  const tables: Table[] = [];
  let offset = 0;
  for (const line of text.split('\n')) {
    const start = offset;
    const end = start + line.trimEnd().length;
    offset += line.length + 1;
    const header = headerOf(line);
    const last = tables.at(-1);
    if (header) tables.push({ ...header, start, end });
    else if (last && line.trim() !== '' && !line.trimStart().startsWith('#'))
      tables[tables.length - 1] = { ...last, end };
  }
  return tables;
}

/** Parses the header of a table by parsing the line as a document. */
function headerOf(line: string): Pick<Table, 'path' | 'isItem'> | undefined {
  if (!line.trimStart().startsWith('[')) return undefined;
  const parsed = parse(line.trimEnd());
  if (!('data' in parsed)) return undefined;
  const path: string[] = [];
  let isItem = false;
  for (let at: unknown = parsed.data; typeof at === 'object' && at !== null;) {
    const [member, ...others] = Object.entries(at);
    if (!member || others.length > 0) break;
    path.push(member[0]);
    isItem = Array.isArray(member[1]);
    at = isItem ? undefined : member[1];
  }
  return path.length === 0 ? undefined : { path, isItem };
}

/** Returns the tables of the list item with this name. */
function itemOf(text: string, tables: readonly Table[], key: string, name: string): Table[] {
  const index = itemsOf(text, key).findIndex((item) => item['name'] === name);
  const heads = tables.flatMap(({ isItem, path }, at) => (isItem && path.length === 1 && path[0] === key ? [at] : []));
  const head = heads[index];
  if (head === undefined) return [];
  const next = tables.findIndex(
    ({ path, isItem }, at) => at > head && (!isBelow(path, [key]) || (isItem && path.length === 1)),
  );
  return tables.slice(head, next === -1 ? undefined : next);
}

const isBelow = (path: readonly string[], above: readonly string[]): boolean =>
  above.every((part, index) => path[index] === part);

/** Reverts `insert`: removes the table with the blank line before it. */
function cutTable(text: string, { start, end }: Table): string {
  const before = text.slice(0, start);
  const ownBreak = /^\r?\n/u.exec(text.slice(end))?.[0];
  const blank = ownBreak === undefined ? /(?:\r?\n){1,2}$/u : /(?<=^|\n)\r?\n$/u;
  const lead = blank.exec(before)?.[0].length ?? 0;
  return cut(text, start - lead, end + (ownBreak?.length ?? 0));
}

type Item = Readonly<Record<string, unknown>>;

/** Returns the items of a list. */
function itemsOf(text: string, key: string): readonly Item[] {
  const parsed = parse(text);
  const items = 'data' in parsed ? (parsed.data as Item)[key] : undefined;
  return Array.isArray(items) ? (items as Item[]) : [];
}

/** Returns the offset behind the bracket of `key = [`, which stands above all tables. */
function openingBracketOf(text: string, key: string): number | undefined {
  const firstTable = tablesOf(text)[0]?.start ?? text.length;
  let offset = 0;
  for (const line of text.split('\n')) {
    if (offset >= firstTable) return undefined;
    const [name = '', value] = line.split('=', 2);
    if (name.trim() === key && value?.trimStart().startsWith('[') === true) return text.indexOf('[', offset) + 1;
    offset += line.length + 1;
  }
  return undefined;
}

const inlineTable = (entry: Item): string =>
  `{ ${Object.entries(entry)
    .map(([name, value]) => stringify({ [name]: value }).trim())
    .join(', ')} }`;

/** Reverts `insert` for an inline table that still has the layout of `insert`. */
function cutInlineItem(text: string, open: number, items: readonly Item[], name: string): string | undefined {
  const item = items.find((one) => one['name'] === name);
  const own = item && inlineTable(item);
  const start = own === undefined ? -1 : text.indexOf(own, open);
  if (own === undefined || start === -1) return undefined;
  const end = start + own.length;
  return cut(text, start, text[end] === ',' ? end + 1 : end);
}
