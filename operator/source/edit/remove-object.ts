import { isDeepStrictEqual } from 'node:util';
import { parseAllDocuments, type Document } from 'yaml';
import { parseDocuments } from '../files/document.ts';

/** Text without a document: `remaining` is undefined when the file holds nothing else. */
export type Removal =
  | { readonly is: 'removed'; readonly remaining: string | undefined }
  | { readonly is: 'refused'; readonly why: string };

/**
 * Removes one document from a file and keeps every other byte. Comment lines that touch the document are part of it; those
 * behind a blank line stay.
 */
export function removeObject(text: string, isTarget: (value: unknown) => boolean): Removal {
  const documents = [...parseAllDocuments(text, { stringKeys: true, merge: true, logLevel: 'silent' })];
  const values = documents.map((document): unknown => document.toJS());
  const index = values.findIndex(isTarget);
  const target = documents[index];
  if (!target) return { is: 'refused', why: 'it is an item of a List' };
  const others = values.filter((value, at) => at !== index && value !== null);
  if (others.length === 0) return { is: 'removed', remaining: undefined };
  const remaining = withoutLines(text, linesOf(text, target));
  const left = parseDocuments('', remaining);
  const isIntact =
    left.problems.length === 0 &&
    isDeepStrictEqual(
      left.documents.map(({ value }) => value),
      others,
    );
  return isIntact
    ? { is: 'removed', remaining }
    : { is: 'refused', why: 'its document cannot be separated from the others' };
}

/** Lines with their line breaks. */
const linesIn = (text: string): string[] => text.split(/(?<=\n)/u);

/** Lines of a document, counted from 0. */
interface Lines {
  readonly first: number;
  readonly last: number;
  /** Line with the `---` above the document. The first document may have none. */
  readonly separator: number | undefined;
}

function linesOf(text: string, document: Document.Parsed): Lines {
  const lines = linesIn(text);
  const [start = 0, end = start] = document.contents?.range ?? [];
  const lineAt = (offset: number): number => text.slice(0, offset).split('\n').length - 1;
  let first = lineAt(start);
  let last = Math.max(first, lineAt(Math.max(start, end - 1)));
  const isComment = (line: number): boolean => /^\s*#/u.test(lines[line] ?? '');
  while (isComment(first - 1)) first -= 1;
  while (isComment(last + 1)) last += 1;
  let separator: number | undefined;
  for (let line = first; line >= 0 && separator === undefined; line -= 1) {
    if (/^---(?:\s|$)/u.test(lines[line] ?? '')) separator = line;
    else if (line < first && !isComment(line) && lines[line]?.trim() !== '') break;
  }
  return { first, last, separator };
}

function withoutLines(text: string, { first, last, separator }: Lines): string {
  return linesIn(text)
    .filter((_line, at) => (at < first || at > last) && at !== separator)
    .join('');
}
