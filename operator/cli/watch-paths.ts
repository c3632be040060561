import { statSync, watch, type FSWatcher } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';

const QUIET_MS = 200;

export interface PathsWatcher {
  /** Resolves when the call of `onChange` that may run has ended; there is none afterwards. */
  close(): Promise<void>;
}

/**
 * Calls `onChange` after the files or folders changed and were quiet for a moment; never two calls at once. Folders are
 * watched as a whole, and of a file its folder, because editors replace files.
 */
export function watchPaths(paths: readonly string[], onChange: () => Promise<void>): PathsWatcher {
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let again = false;
  let closed = false;
  const run = (): void => {
    if (running) {
      again = true;
      return;
    }
    running = onChange()
      .catch((error: unknown) => {
        process.stderr.write(`taking the changed files failed: ${String(error)}\n`);
      })
      .finally(() => {
        running = undefined;
        if (!again || closed) return;
        again = false;
        run();
      });
  };
  const changed = (): void => {
    if (closed) return;
    clearTimeout(timer);
    timer = setTimeout(run, QUIET_MS);
  };
  const watchers = paths.map((path) => watchPath(resolve(path), changed));
  return {
    close: async () => {
      closed = true;
      clearTimeout(timer);
      for (const watcher of watchers) watcher.close();
      await running;
    },
  };
}

/** A file that is replaced is another file: only its folder tells of it. */
function watchPath(path: string, changed: () => void): FSWatcher {
  const watcher = statSync(path).isDirectory()
    ? watch(path, { recursive: true }, changed)
    : watch(dirname(path), (_event, name) => {
        if (name === null || name === basename(path)) changed();
      });
  return watcher.on('error', (error) => {
    process.stderr.write(`${path} is not watched any more (${error.message}): restart to take its changes\n`);
  });
}
