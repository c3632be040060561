import { posix, win32 } from 'node:path';
import type { McpClient } from './client.ts';

/** Folders of a user on this machine. */
export interface UserFolders {
  /** Value of `process.platform`. */
  readonly platform: string;
  readonly home: string;
  /** `$XDG_CONFIG_HOME`; a relative value counts as absent. */
  readonly configHome?: string | undefined;
  /** `%APPDATA%`. */
  readonly appData?: string | undefined;
  /** Returns true for a file or folder that exists. Without it, no program counts as replaced by another. */
  readonly exists?: (path: string) => boolean;
}

/** Returns the absolute path of the client's configuration file. */
export function configFileOf({ file, windowsFile, olderFile }: McpClient, folders: UserFolders): string {
  const path = absolute(folders.platform === 'win32' ? (windowsFile ?? file) : file, folders);
  const { exists } = folders;
  if (olderFile === undefined || !exists) return path;
  const older = absolute(olderFile, folders);
  const hasFolderOf = (name: string): boolean => exists(pathOf(folders).dirname(name));
  return hasFolderOf(older) && !hasFolderOf(path) ? older : path;
}

function absolute(file: string, folders: UserFolders): string {
  const [folder = '', ...rest] = file.split('/');
  return pathOf(folders).join(FOLDERS[folder]?.(folders) ?? folder, ...rest);
}

/**
 * Returns the path whose existence means that the client is installed: the folder of its configuration file, or the file
 * when its folder is the home folder.
 */
export function installedMarkOf(client: McpClient, folders: UserFolders): string {
  const file = configFileOf(client, folders);
  const folder = pathOf(folders).dirname(file);
  return folder === pathOf(folders).normalize(folders.home) ? file : folder;
}

/** Returns the path of the file for messages, such as `~/.cursor/mcp.json`. */
export const shownFileOf = ({ file }: McpClient): string =>
  file.replace('{home}', '~').replace('{xdg}', '~/.config').replace('{app}', '~/.config');

/** First segments of `Client.file`. */
const FOLDERS: Readonly<Record<string, (folders: UserFolders) => string>> = {
  '{home}': ({ home }) => home,
  /** Folder of desktop programs. */
  '{app}': (folders) =>
    folders.platform === 'darwin' ? posix.join(folders.home, 'Library', 'Application Support') : configFolder(folders),
  /** Folder of programs that follow the XDG specification on macOS too. */
  '{xdg}': (folders) => configFolder(folders),
};

function configFolder({ platform, home, configHome, appData }: UserFolders): string {
  if (platform === 'win32') return appData ?? win32.join(home, 'AppData', 'Roaming');
  return configHome?.startsWith('/') === true ? configHome : posix.join(home, '.config');
}

const pathOf = ({ platform }: UserFolders): typeof posix => (platform === 'win32' ? win32 : posix);
