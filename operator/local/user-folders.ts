import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import type { UserFolders } from '../../gateway/management/clients/config-file.ts';

/** Returns the folders of the user who runs this process. */
export function userFolders(env: Readonly<Record<string, string | undefined>>, platform: string): UserFolders {
  const home = env[platform === 'win32' ? 'USERPROFILE' : 'HOME'];
  return {
    ...{ platform, home: home || homedir(), configHome: env['XDG_CONFIG_HOME'], appData: env['APPDATA'] },
    exists: existsSync,
  };
}
