import type { ClientEntry } from '../client.ts';

/** Syntax of configuration files. The functions edit text, so that everything else stays byte for byte. */
export interface Format {
  /** Parses a whole file. A blank text counts as an empty object. */
  parse(text: string): ParsedFile;
  /** Adds a server to a valid file without it. Returns undefined when the layout of the file does not allow that. */
  insert(text: string, place: ServersPlace, name: string, entry: ClientEntry): string | undefined;
  /** Reverts `insert`. Returns undefined when the layout of the file does not allow that. */
  remove(text: string, place: ServersPlace, name: string): string | undefined;
}

export type ParsedFile = { readonly data: unknown } | SyntaxProblem;

interface SyntaxProblem {
  readonly line: number;
  readonly message: string;
}

/** Place of the servers in a file. */
export interface ServersPlace {
  readonly key: string;
  readonly isList: boolean;
}
/** Returns the line break of a text: that of its first line. */
export const lineBreakOf = (text: string): string => /\r?\n/u.exec(text)?.[0] ?? '\n';

/** Appends lines. Ends the text with a line break only if it did before, so that `cutLines` can revert it. */
export function appendLines(text: string, lines: string): string {
  const end = lineBreakOf(text);
  return text === '' || text.endsWith('\n') ? `${text}${lines}${end}` : `${text}${end}${lines}`;
}

/** Removes whole lines: `end` is before the line break. */
export function cutLines(text: string, start: number, end: number): string {
  const after = /^\r?\n/u.exec(text.slice(end))?.[0].length;
  if (after !== undefined) return cut(text, start, end + after);
  return cut(text, endOfLineBefore(text, start), end);
}

export const cut = (text: string, start: number, end: number): string => text.slice(0, start) + text.slice(end);

export const insertAt = (text: string, offset: number, added: string): string =>
  text.slice(0, offset) + added + text.slice(offset);

/** Returns the number of the line, from 1, that holds an offset. */
export const lineAt = (text: string, offset: number): number => text.slice(0, offset).split('\n').length;

/** Returns the offset of the start of the line. */
export const lineStart = (text: string, offset: number): number => text.lastIndexOf('\n', offset - 1) + 1;

/** Returns the offset of the end of the line, before its line break. */
export function lineEnd(text: string, offset: number): number {
  const end = /\r?\n/u.exec(text.slice(offset))?.index;
  return end === undefined ? text.length : offset + end;
}

/** Returns the offset before the line break that ends at `start`, the start of a line. */
export function endOfLineBefore(text: string, start: number): number {
  if (text[start - 1] !== '\n') return start;
  return text[start - 2] === '\r' ? start - 2 : start - 1;
}
