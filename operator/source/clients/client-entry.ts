export interface ClientEntry {
  readonly name: string;
  readonly value: unknown;
  /** Folder of the project that has the server, in the file of Claude Code. */
  readonly project?: string;
  /** Reason why the server is left out, where the file alone shows it. */
  readonly leftOut?: string;
}

/** Problem in a client's file. */
export interface Fault {
  /** Starts at 1; absent when the whole file is meant. */
  readonly line?: number;
  readonly message: string;
}

/** Servers of a client's file in their order. */
export type ClientFile = { readonly entries: readonly ClientEntry[] } | { readonly fault: Fault };
