import { watch, type FSWatcher } from 'node:fs';

const QUIET_MS = 200;

/**
 * Calls `onChange` after the files or folders changed and were quiet for a moment; never two calls at once. Folders are
 * watched as a whole, and of a file its folder, because editors replace files.
 */
export function watchPaths(paths: readonly string[], onChange: () => Promise<void>): { close(): void } {
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let again = false;
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
        if (again) {
          again = false;
          run();
        }
      });
  };
  const changed = (): void => {
    clearTimeout(timer);
    timer = setTimeout(run, QUIET_MS);
  };
  const watchers: FSWatcher[] = paths.map((path) => watch(path, { recursive: true }, changed));
  return {
    close: () => {
      clearTimeout(timer);
      for (const watcher of watchers) watcher.close();
    },
  };
}
