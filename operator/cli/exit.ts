/** Exit codes of every command: no other file has such numbers. */
export const EXIT = {
  /** The command did its work, or a signal stopped it. */
  done: 0,
  /** A call or a check failed, or the machine did not do its part. */
  failed: 1,
  /** Wrong usage, invalid files or settings, or nothing that can run. */
  invalid: 2,
  /** A second Ctrl-C ended it at once. */
  interrupted: 130,
  /** The reader of its output is gone: the code of a shell for a process that SIGPIPE has ended. Node.js ignores that signal. */
  readerGone: 141,
} as const;

/** Errors whose message is a sentence for the user, by name: so this table loads none of their modules. */
const FAILURES: Readonly<Record<string, number>> = {
  BoundaryImpossible: EXIT.invalid,
  ListenError: EXIT.invalid,
  PortInUse: EXIT.invalid,
  ProxyUrlError: EXIT.invalid,
  StateInUse: EXIT.invalid,
  StateNotUsable: EXIT.invalid,
  StatusError: EXIT.failed,
  UserFileError: EXIT.failed,
};

/** Returns the sentence and the exit code of an error of the table. Throws any other error. */
export function failureOf(error: unknown): { readonly message: string; readonly code: number } {
  const code = error instanceof Error ? FAILURES[error.name] : undefined;
  if (code === undefined) throw error;
  return { message: (error as Error).message, code };
}

/** Prints the sentence of an error of the table and returns its exit code. Throws any other error. */
export function endWith(error: unknown, stderr: { write(text: string): unknown }): number {
  const { message, code } = failureOf(error);
  stderr.write(`${message}\n`);
  return code;
}
