import type { ObjectProblem } from '../../resolve/problems.ts';

/** Place in a file; both numbers count from 1. */
export interface Position {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** A problem with its place. `kind` is `File` or `Document` where no object could be read. */
export interface LocatedProblem extends ObjectProblem, Position {}

export const FILE = 'File';
export const DOCUMENT = 'Document';

/** A problem of a whole file, placed at its first line. */
export function fileProblem(file: string, reason: string, message: string): LocatedProblem {
  const name = file.split('/').findLast((part) => part !== '') ?? file;
  return { file, line: 1, column: 1, kind: FILE, namespace: '', name, path: '-', reason, message };
}
