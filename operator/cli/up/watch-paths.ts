import { readdirSync, statSync, watch, type FSWatcher } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { ENV_FILE } from '../../source/files/find-files.ts';

const QUIET_MS = 200;

export interface PathsWatcher {
  /** Stops watching. Resolves when a running call of `onChange` has ended. */
  close(): Promise<void>;
}

/**
 * Calls `onChange` after changes of files or folders followed by a short pause, never twice at once. For a file it
 * watches the folder, because editors replace files, and the `.env` beside the file.
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
        process.stderr.write(`applying the changed files failed: ${String(error)}\n`);
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

interface Watched {
  close(): void;
}

const watchPath = (path: string, changed: () => void): Watched =>
  statSync(path).isDirectory() ? watchFolder(path, changed) : watchFile(path, changed);

/** Watches a file through its folder, since a watch on the file itself does not report a replacement. */
const watchFile = (path: string, changed: () => void): Watched =>
  watchOne(dirname(path), (name) => {
    if (name === null || name === basename(path) || name === ENV_FILE) changed();
  });

/** Watches each folder separately, since a recursive watch misses replaced files. Hidden folders are skipped. */
function watchFolder(root: string, changed: () => void): Watched {
  const watchers = new Map<string, FSWatcher>();
  const sync = (): void => {
    const folders = new Set(foldersBelow(root));
    for (const [folder, watcher] of watchers) {
      if (folders.has(folder)) continue;
      watcher.close();
      watchers.delete(folder);
    }
    for (const folder of folders) {
      if (watchers.has(folder)) continue;
      watchers.set(
        folder,
        watchOne(folder, () => {
          sync();
          changed();
        }),
      );
    }
  };
  sync();
  return {
    close: () => {
      for (const watcher of watchers.values()) watcher.close();
    },
  };
}

const SKIPPED = /^(\.|node_modules$)/u;

function foldersBelow(folder: string): string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    const inner = entries.filter((entry) => entry.isDirectory() && !SKIPPED.test(entry.name));
    return [folder, ...inner.flatMap(({ name }) => foldersBelow(join(folder, name)))];
  } catch {
    return []; // the folder was removed meanwhile
  }
}

function watchOne(folder: string, changed: (name: string | null) => void): FSWatcher {
  const watcher = watch(folder, (_event, name) => {
    changed(name);
  });
  return watcher.on('error', (error) => {
    process.stderr.write(`${folder} is no longer watched (${error.message}): restart to apply its changes\n`);
  });
}
