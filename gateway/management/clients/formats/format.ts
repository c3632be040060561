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
