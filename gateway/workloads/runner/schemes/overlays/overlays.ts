import { existsSync, type Dirent } from 'node:fs';
import { lstat, mkdir, readdir, readFile, realpath, stat, writeFile } from 'node:fs/promises';
import { join, posix, relative } from 'node:path';
import type { BackendProcess } from '../../../../contract/gateway-config.ts';
import { decodeUtf8 } from '../../../../contract/text/utf8.ts';
import type { Environment } from '../../environment.ts';
import { LaunchError } from '../../runner.ts';
import type { Tools } from '../scheme.ts';
/** Token of a pattern: any number of items, or a single item that fits. */
type Token<Item> = 'any' | ((item: Item) => boolean);

/** Line of an ignore file. */
interface IgnoreRule {
  /** True for `!PATTERN`, which shows again what an earlier rule hides. */
  readonly isNegated: boolean;
  /** True for `PATTERN/`, which fits folders only. */
  readonly isForFolders: boolean;
  readonly path: readonly Token<string>[];
}

/**
 * Parses an ignore file in the syntax of git: `#` comments, `!`, a `/` at the end for folders, a `/` at the beginning or within for
 * paths from the mounted folder, `*`, `?`, `[a-z]` and `**`.
 */
export const parseIgnoreFile = (text: string): IgnoreRule[] =>
  text
    .replace(/^\uFEFF/u, '')
    .split(/\r?\n/u)
    .map(withoutSpacesAtEnd)
    .filter((line) => line !== '' && !line.startsWith('#'))
    .flatMap((line) => ruleOf(line) ?? []);

/** A backslash keeps a space at the end of a line. */
function withoutSpacesAtEnd(line: string): string {
  const text = line.trimEnd();
  return text.endsWith('\\') && text !== line ? `${text} ` : text;
}

function ruleOf(line: string): IgnoreRule | undefined {
  const isNegated = line.startsWith('!');
  const pattern = isNegated ? line.slice(1) : line;
  const isForFolders = pattern.endsWith('/');
  const parts = pattern.split('/').filter((part) => part !== '');
  if (parts.length === 0) return undefined;
  const isAnchored = pattern.replace(/\/$/u, '').includes('/');
  const path = parts.flatMap((part, index): Token<string>[] => {
    if (part !== '**') return [fitsName(tokensOf(part))];
    // At the end it stands for what is in a folder, not for the folder itself.
    return index === parts.length - 1 ? [() => true, 'any'] : ['any'];
  });
  return { isNegated, isForFolders, path: isAnchored ? path : ['any', ...path] };
}

const fitsName =
  (tokens: readonly Token<string>[]) =>
  (name: string): boolean =>
    fits(tokens, Array.from(name));

/** Reads the wildcards of a name. A bracket without an end stands for itself. */
function tokensOf(pattern: string): Token<string>[] {
  const tokens: Token<string>[] = [];
  for (const [text, escaped, negation, set] of pattern.matchAll(/\\(.)|\[([!^]?)(\]?[^\]]{0,100})\]|[^]/gsu)) {
    if (text === '*') tokens.push('any');
    else if (text === '?') tokens.push(() => true);
    else if (set !== undefined && set !== '') tokens.push(oneOf(set, negation !== ''));
    else for (const letter of escaped ?? text) tokens.push((item) => item === letter);
  }
  return tokens;
}

/** Returns a test for the letters and ranges of a set, such as `a-z_`. */
function oneOf(set: string, isNegated: boolean): (item: string) => boolean {
  const ranges = [...set.matchAll(/([^])-([^])|[^]/gu)].map(([one, from = one, to = one]) => [from, to] as const);
  return (item) => ranges.some(([from, to]) => from <= item && item <= to) !== isNegated;
}

/** Compares items with tokens. It returns to the last `any` only, so that its time is the product of both lengths at most. */
function fits<Item>(tokens: readonly Token<Item>[], items: readonly Item[]): boolean {
  let [token, item, lastAny, resumeAt] = [0, 0, -1, 0];
  while (item < items.length) {
    const expected = tokens[token];
    if (expected === 'any') {
      [lastAny, resumeAt] = [token, item];
      token += 1;
    } else if (expected?.(items[item] as Item) === true) {
      token += 1;
      item += 1;
    } else if (lastAny === -1) return false;
    else {
      resumeAt += 1;
      [token, item] = [lastAny + 1, resumeAt];
    }
  }
  return tokens.slice(token).every((rest) => rest === 'any');
}

/** Returns true for a path that the rules hide. The last rule that fits decides. `path` has the names from the mounted folder on. */
export function isHidden(rules: readonly IgnoreRule[], path: readonly string[], isFolder: boolean): boolean {
  const last = rules.findLast((rule) => (isFolder || !rule.isForFolders) && fits(rule.path, path));
  return last !== undefined && !last.isNegated;
}

/** Ignore file in a mounted folder. */
export const IGNORE_FILE = '.vmcpignore';

const MAX_FILE_BYTES = 64 * 1024;
const MAX_RULES = 500;
/** Most files and folders that a start looks at. */
const MAX_ENTRIES = 100_000;
/** Most hidden paths of a container: each is an argument of the engine. */
const MAX_HIDDEN = 500;
const MAX_PRINTED = 100;

/** Path in a container, and the place of its content on this machine. */
interface Hidden {
  readonly path: string;
  readonly isFolder: boolean;
}

/**
 * Hides the paths of mounts that ignore files name: an empty read-only folder or file lies over each. Every mounted folder may have an
 * ignore file, which the server does not see; `load_global` adds that of the user. Mounts are checked already, and without symbolic links.
 * @throws LaunchError `MountRefused` where something could stay visible
 */
export async function withOverlays(process: BackendProcess, workload: string, tools: Tools): Promise<BackendProcess> {
  const {
    volumes = [],
    engine_volumes: kept = [],
    ignore: { load_global: loadsGlobal = false, print_overlays: prints = false } = {},
  } = process.container ?? {};
  if (volumes.length === 0) return process;
  const own = loadsGlobal ? await readRules(userFile(tools.hostEnv)) : [];
  const hidden: Hidden[] = [];
  for (const volume of volumes) hidden.push(...(await hiddenIn(volume, own)));
  const overlays = outermost(hidden, [...volumes, ...kept].map(targetOfVolume));
  if (overlays.length > MAX_HIDDEN)
    throw refused(`ignore files hide more than ${MAX_HIDDEN} paths: hide folders in place of their files`);
  if (prints) printHidden(overlays, workload, tools);
  if (overlays.length === 0) return process;
  const empty = await emptyPlaces(tools.stateDir);
  const added = overlays.map(({ path, isFolder }) => `${isFolder ? empty.folder : empty.file}:${path}:ro`);
  return { ...process, container: { ...process.container, volumes: [...volumes, ...new Set(added)] } };
}

/** Returns the path in the container of `host:container[:ro]`. */
const targetOfVolume = (volume: string): string => volume.split(':')[1] ?? '';

/** Leaves out paths in folders that are hidden themselves, and mounts: what is mounted at that very path is meant to be seen. */
function outermost(hidden: readonly Hidden[], mounted: readonly string[]): Hidden[] {
  const targets = new Set(mounted);
  const shown = hidden.filter(({ path }) => !targets.has(path));
  const folders = new Set(shown.filter(({ isFolder }) => isFolder).map(({ path }) => path));
  const lost = [...targets].find((target) => isWithin(target, folders));
  if (lost !== undefined)
    throw refused(`the mount "${lost}" lies in a folder that an ignore file hides: remove one of them`);
  return shown.filter(({ path }) => !isWithin(path, folders));
}

/** Returns true for a path below any of the folders. */
function isWithin(path: string, folders: ReadonlySet<string>): boolean {
  return path.split('/').some((_name, index, names) => index > 0 && folders.has(names.slice(0, index).join('/')));
}

/** Returns the path of the user's ignore file. */
const userFile = ({ XDG_CONFIG_HOME: config = '', HOME: home = '' }: Environment): string =>
  join(config === '' ? join(home, '.config') : config, 'vmcp', 'ignore');

/** Lists what the rules hide in a mount, and its ignore file. */
async function hiddenIn(volume: string, own: readonly IgnoreRule[]): Promise<Hidden[]> {
  const [host = ''] = volume.split(':');
  if (!(await stat(host)).isDirectory()) return [];
  const file = join(host, IGNORE_FILE);
  const rules = [...own, ...(await readRules(file))];
  const inContainer = (path: string): string => checkedPath(posix.join(targetOfVolume(volume), path));
  const hidden: Hidden[] = existsSync(file) ? [{ path: inContainer(IGNORE_FILE), isFolder: false }] : [];
  if (rules.length === 0) return hidden;
  const folders: string[][] = [[]];
  let seen = 0;
  for (let names = folders.pop(); names !== undefined; names = folders.pop()) {
    for (const entry of await entriesOf(join(host, ...names))) {
      const path = [...names, entry.name];
      if (path.length === 1 && entry.name === IGNORE_FILE) continue;
      seen += 1;
      if (seen > MAX_ENTRIES)
        throw refused(
          `"${host}" has more than ${MAX_ENTRIES} files, too many for its ignore file: mount a smaller folder`,
        );
      const found = await targetOf(entry, host, path);
      if (isHidden(rules, path, found?.isFolder ?? false)) {
        if (found !== undefined) hidden.push({ path: inContainer(found.path), isFolder: found.isFolder });
      } else if (entry.isDirectory()) folders.push(path);
    }
  }
  return hidden;
}

/** Returns what an entry is in its mount. A symbolic link is what it points at there, undefined when that is not in the mount. */
async function targetOf(entry: Dirent, host: string, path: readonly string[]): Promise<Hidden | undefined> {
  if (!entry.isSymbolicLink()) return { path: path.join('/'), isFolder: entry.isDirectory() };
  try {
    const real = await realpath(join(host, ...path));
    const inMount = relative(host, real);
    if (inMount === '' || inMount.startsWith('..')) return undefined;
    return { path: inMount, isFolder: (await stat(real)).isDirectory() };
  } catch {
    return undefined; // it points at nothing
  }
}

async function entriesOf(folder: string): Promise<Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch {
    throw refused(
      `vmcp cannot read "${folder}" to find what ignore files hide: add it to ${IGNORE_FILE}, or mount another folder`,
    );
  }
}

/** Reads an ignore file. Returns no rules when there is no file. */
async function readRules(path: string): Promise<IgnoreRule[]> {
  const found = await lstat(path).catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && ['ENOENT', 'ENOTDIR'].includes(String(error.code)))
      return undefined;
    throw unusable(path);
  });
  if (found === undefined) return [];
  if (!found.isFile() || found.size > MAX_FILE_BYTES) throw unusable(path);
  const text = decodeUtf8(await readFile(path).catch(() => Buffer.of(0xff)));
  const rules = text === undefined ? [] : parseIgnoreFile(text);
  if (text === undefined || rules.length > MAX_RULES) throw unusable(path);
  return rules;
}

const unusable = (path: string): LaunchError =>
  refused(
    `the ignore file "${path}" must be a plain UTF-8 file that vmcp can read, with at most ${MAX_RULES} lines: correct or remove it`,
  );

/** Rejects a path that the engine would take for another path. Node.js reads bytes that are no UTF-8 as U+FFFD. */
function checkedPath(path: string): string {
  if (/[:\p{Cc}\uFFFD]/u.test(path))
    throw refused(
      `the path "${path}", which an ignore file hides, has a ":", a control character or no UTF-8 name: rename it`,
    );
  return path;
}

const refused = (message: string): LaunchError => new LaunchError('MountRefused', message);

function printHidden(hidden: readonly Hidden[], workload: string, { log }: Tools): void {
  const paths = hidden.slice(0, MAX_PRINTED).map(({ path }) => path);
  log.info('paths hidden from the server', { workload, count: hidden.length, paths });
}

/** Creates the empty file and the empty folder that lie over hidden paths. */
async function emptyPlaces(stateDir: string): Promise<{ readonly file: string; readonly folder: string }> {
  const [folder, file] = [join(stateDir, 'overlays', 'folder'), join(stateDir, 'overlays', 'file')];
  await mkdir(folder, { recursive: true, mode: 0o755 });
  if (!existsSync(file)) await writeFile(file, '', { mode: 0o444 });
  return { folder, file };
}
