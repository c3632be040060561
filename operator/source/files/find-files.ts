import { createReadStream } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { decodeUtf8 } from '../../../gateway/contract/text/utf8.ts';
import { fileProblem, type LocatedProblem } from './located.ts';

/** Name of standard input in positions of problems. */
export const STDIN_FILE = '/dev/stdin';

/** Maximum size of a manifest. */
export const MAX_FILE_BYTES = 5 * 1024 * 1024;

export type FileText = { readonly text: string } | { readonly reason: string; readonly message: string };

/** Reads a text file, or returns the reason why it cannot. Accepts pipes and stops at the size limit. */
export async function readText(file: string, maxBytes = MAX_FILE_BYTES): Promise<FileText> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    // A pipe of a parent process may be a socket, which cannot be opened by its path.
    const input = file === STDIN_FILE ? process.stdin : createReadStream(file);
    for await (const chunk of input as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > maxBytes) {
        const limit = String(maxBytes / 1024 / 1024);
        return { reason: 'FileTooLarge', message: `larger than ${limit} MiB: split it into several files` };
      }
      chunks.push(chunk);
    }
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
    if (code === 'ENOENT') return { reason: 'FileNotFound', message: 'no such file: correct the path' };
    return { reason: 'FileNotReadable', message: `cannot be read (${code}): make it a readable file` };
  }
  const text = decodeUtf8(Buffer.concat(chunks));
  if (text === undefined) return { reason: 'InvalidEncoding', message: 'not UTF-8 text: save the file as UTF-8' };
  return { text: text.replace(/^\uFEFF/u, '') };
}

/** Path that stands for standard input, as in other tools. */
export const STDIN = '-';
const MANIFEST = /\.(ya?ml|json)$/u;
const ENV_FILE_GIVEN = 'host variables are not resources: name the folder, and vmcp finds its .env';
const SKIPPED_FOLDER = /^(\.|node_modules$)/u;

export interface FoundFiles {
  /** Paths below the given paths, sorted, each real file once. */
  readonly files: readonly string[];
  readonly problems: readonly LocatedProblem[];
}

interface Search {
  readonly seen: Set<string>;
  readonly files: string[];
  readonly problems: LocatedProblem[];
}

/** Finds the manifests in files, folders and, for `-`, standard input. Skips hidden folders and `node_modules`; follows symbolic links. */
export async function findFiles(paths: readonly string[]): Promise<FoundFiles> {
  const search: Search = { seen: new Set(), files: [], problems: [] };
  for (const path of paths) await visit(path === STDIN ? STDIN_FILE : path, search, true);
  return { files: search.files.toSorted(), problems: search.problems };
}

/** Returns true when the path contains a manifest, even one that was found before. */
async function visit(path: string, search: Search, isArgument: boolean): Promise<boolean> {
  let real: string;
  let folder: boolean;
  try {
    folder = (await stat(path)).isDirectory();
    real = await realpath(path).catch(() => path); // a pipe, such as <(...) of a shell, has no real path
  } catch (error) {
    search.problems.push(unreadable(path, error));
    return true;
  }
  if (search.seen.has(real)) return true;
  search.seen.add(real);
  if (!folder) {
    if (basename(path) === ENV_FILE) search.problems.push(fileProblem(path, 'NoManifests', ENV_FILE_GIVEN));
    else search.files.push(path);
    return true;
  }
  const isFound = await visitFolder(path, search);
  if (isArgument && !isFound) {
    search.problems.push(
      fileProblem(path, 'NoManifests', 'the folder contains no .yaml, .yml or .json file: name another folder or file'),
    );
  }
  return isFound;
}

async function visitFolder(path: string, search: Search): Promise<boolean> {
  let entries;
  try {
    entries = await readdir(path, { withFileTypes: true });
  } catch (error) {
    search.problems.push(unreadable(path, error));
    return true;
  }
  let isFound = false;
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const child = join(path, entry.name);
    const target = entry.isSymbolicLink() ? await stat(child).catch(() => undefined) : entry;
    if (target === undefined) {
      search.problems.push(fileProblem(child, 'BrokenLink', 'the symbolic link leads nowhere: repair or remove it'));
      isFound = true;
    } else if (target.isDirectory() ? !SKIPPED_FOLDER.test(entry.name) : target.isFile() && MANIFEST.test(entry.name)) {
      isFound = (await visit(child, search, false)) || isFound;
    }
  }
  return isFound;
}

function unreadable(path: string, error: unknown): LocatedProblem {
  const code = (error as NodeJS.ErrnoException).code;
  if (code === 'ENOENT') return fileProblem(path, 'FileNotFound', 'no such file or folder: correct the path');
  if (code === 'EACCES')
    return fileProblem(path, 'FileNotReadable', 'permission denied: make the path readable for this user');
  if (code === 'ELOOP')
    return fileProblem(path, 'BrokenLink', 'the symbolic link leads to itself: repair or remove it');
  return fileProblem(path, 'FileNotReadable', `cannot be read (${code ?? 'unknown error'}): check the path`);
}

/** Name of the file with host variables beside manifests. */
export const ENV_FILE = '.env';
