import type { ObjectProblem } from '../../resolve/scope.ts';

/** Position in a file. Lines and columns start at 1. */
export interface Position {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** Problem with its position. `kind` is `File` or `Document` when no object could be read. */
export interface LocatedProblem extends ObjectProblem, Position {}

export const FILE = 'File';

export const DOCUMENT = 'Document';

/** Returns a problem of a whole file, positioned at its first line. */
export function fileProblem(file: string, reason: string, message: string): LocatedProblem {
  const name = file.split('/').findLast((part) => part !== '') ?? file;
  return { file, line: 1, column: 1, kind: FILE, namespace: '', name, path: '-', reason, message };
}
