import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { join, relative } from 'node:path';
import { isObject, textsIn } from '../../gateway/contract/json.ts';
import { shellWord } from '../../gateway/contract/text/printable.ts';
import { findOnPath } from '../../gateway/workloads/runner/schemes/path.ts';
import { PROJECT_ROOT } from './version.ts';

/** Facts that decide which command starts this program again. */
export interface Installation {
  /** Folder of the package. */
  readonly root: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Real path of the `vmcp` on PATH, with symbolic links resolved. */
  readonly onPath: string | undefined;
  /** Packages that the user named to `npx`, when its cache holds this program. */
  readonly npxPackages: readonly string[];
  /** Script that starts this program, when the package has one. */
  readonly launcher: string | undefined;
}

/** Returns the command that starts this program in the current folder: `vmcp`, `bin/vmcp` or `npx PACKAGE`. */
export function commandName({ root, cwd, env, onPath, npxPackages, launcher }: Installation): string {
  const [named] = npxPackages;
  if (named !== undefined) return `npx ${shellWord(named)}`;
  if (env['npm_command'] === 'exec') return 'npx vmcp'; // npx also changes PATH
  if (launcher === undefined || onPath?.startsWith(`${root}/`) === true) return 'vmcp';
  const path = relative(cwd, launcher);
  if (path.startsWith('../')) return shellWord(launcher);
  return shellWord(path.includes('/') ? path : `./${path}`);
}

/** Renders a command line of this program that the user can type in the current folder. */
export const ownCommandLine = (...args: readonly string[]): string =>
  [commandName(thisInstallation()), ...args.map(shellWord)].join(' ');

function thisInstallation(): Installation {
  const launcher = join(PROJECT_ROOT, 'bin', 'vmcp');
  const found = findOnPath('vmcp', process.env);
  return {
    root: PROJECT_ROOT,
    cwd: process.cwd(),
    env: process.env,
    onPath: found === undefined ? undefined : realpathSync(found),
    npxPackages: npxPackagesAbove(PROJECT_ROOT),
    launcher: existsSync(launcher) ? launcher : undefined,
  };
}

/** Reads the packages that npm stores in each folder of its cache: `_npx.packages` of the package.json. */
function npxPackagesAbove(root: string): string[] {
  const [folder] = /^.*\/_npx\/[^/]+(?=\/node_modules\/)/u.exec(root) ?? [];
  if (folder === undefined) return [];
  try {
    const manifest: unknown = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    const npx = isObject(manifest) && isObject(manifest['_npx']) ? manifest['_npx'] : {};
    const { packages } = npx;
    return textsIn(packages) ?? [];
  } catch {
    return [];
  }
}
